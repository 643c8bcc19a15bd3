// What a setting costs is told where one points, and the slider says where it stands.
(function () {
  "use strict";

  function tell(link) {
    const panel = document.querySelector(".pointed");
    if (!panel) {
      return;
    }
    for (const told of panel.querySelectorAll("dl")) {
      told.hidden = !link || told.dataset.title !== link.dataset.told;
    }
    panel.querySelector(".hint").hidden = Boolean(link);
  }

  for (const name of ["mouseover", "focusin"]) {
    document.addEventListener(name, (event) => {
      const link = event.target.closest(".dot");
      if (link) {
        tell(link);
      }
    });
  }
  document.addEventListener("focusout", (event) => event.target.closest(".dot") && tell(null));

  document.addEventListener("input", (event) => {
    if (event.target.id === "limit") {
      document.getElementById("limit-told").textContent = event.target.value;
    }
  });
})();
