// What htmx does not do: a file that is dropped is sent as it is, and the page says how far it is.
// It runs before the page is read, and listens to the document: whatever comes later is heard.
(function () {
  "use strict";

  const SILENT = "The workbench does not answer this page any more; look where it was started, and open the address that is printed there.";
  const formOf = (event) => event.target.closest?.("form[data-upload]");

  // The button of such a form is for those who have no scripts.
  document.documentElement.classList.add("scripted");

  function send(form, file) {
    const told = form.querySelector("[role=status]");
    const request = new XMLHttpRequest();
    request.open("PUT", form.action);
    request.setRequestHeader("x-recveil-change", form.elements.change.value);
    request.setRequestHeader("x-file-name", encodeURIComponent(file.name));
    request.setRequestHeader("content-type", "application/octet-stream");
    request.upload.addEventListener("progress", (event) => {
      const share = event.total ? Math.floor((100 * event.loaded) / event.total) : 0;
      told.textContent = "Copying: " + share + " %";
    });
    request.addEventListener("load", () => {
      let answer = {};
      try {
        answer = JSON.parse(request.responseText);
      } catch {
        answer = { error: "That did not work; load the page again." };
      }
      if (answer.next) {
        window.location.assign(answer.next);
      } else {
        told.textContent = answer.error;
      }
    });
    request.addEventListener("error", () => {
      told.textContent = SILENT;
    });
    request.send(file);
  }

  function sendChosen(form) {
    const [file] = form.elements.file.files;
    if (file) {
      send(form, file);
    }
  }

  document.addEventListener("change", (event) => {
    const form = formOf(event);
    if (form) {
      sendChosen(form);
    }
  });
  document.addEventListener("submit", (event) => {
    const form = formOf(event);
    if (form) {
      event.preventDefault();
      sendChosen(form);
    }
  });

  // A file that is dropped beside must not be opened instead of the page.
  for (const name of ["dragenter", "dragover", "dragleave", "drop"]) {
    document.addEventListener(name, (event) => {
      event.preventDefault();
      const form = formOf(event);
      if (form) {
        form.classList.toggle("over", name === "dragenter" || name === "dragover");
      }
      if (form && name === "drop" && event.dataTransfer.files.length) {
        send(form, event.dataTransfer.files[0]);
      }
    });
  }

  function tellSilence(isSilent) {
    const told = document.getElementById("unheard");
    if (told) {
      told.textContent = isSilent ? SILENT : "";
      told.hidden = !isSilent;
    }
  }

  // What the page asks again and again says, too, when nobody answers.
  document.addEventListener("htmx:sendError", () => tellSilence(true));
  document.addEventListener("htmx:responseError", (event) => tellSilence(event.detail.xhr.status === 403));
  document.addEventListener("htmx:afterOnLoad", () => tellSilence(false));
})();
