// Shows the figures of the setting under the pointer, and the value of the slider.
(function () {
  "use strict";

  function show(link) {
    const panel = document.querySelector(".panel");
    if (!panel) {
      return;
    }
    for (const figures of panel.querySelectorAll("dl")) {
      figures.hidden = !link || figures.dataset.title !== link.dataset.title;
    }
    panel.querySelector(".hint").hidden = Boolean(link);
  }

  for (const name of ["mouseover", "focusin"]) {
    document.addEventListener(name, (event) => {
      const link = event.target.closest(".dot");
      if (link) {
        show(link);
      }
    });
  }
  document.addEventListener("focusout", (event) => event.target.closest(".dot") && show(null));

  document.addEventListener("input", (event) => {
    if (event.target.id === "limit") {
      document.getElementById("limit-value").textContent = event.target.value;
    }
  });
})();
