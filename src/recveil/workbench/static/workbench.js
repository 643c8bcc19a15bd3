// Uploads dropped files with progress, which htmx does not do, and reports lost connections.
// It runs before the body and listens to the document, so that later elements are covered.
(function () {
  "use strict";

  const OFFLINE = "The workbench does not answer any more; open the address that it printed when it started.";
  const formOf = (event) => event.target.closest?.("form[data-upload]");

  // The button of an upload form is for browsers without scripts.
  document.documentElement.classList.add("scripted");

  function send(form, file) {
    const status = form.querySelector("[role=status]");
    const request = new XMLHttpRequest();
    request.open("PUT", form.action);
    request.setRequestHeader("x-recveil-change", form.elements.change.value);
    request.setRequestHeader("x-file-name", encodeURIComponent(file.name));
    request.setRequestHeader("content-type", "application/octet-stream");
    request.upload.addEventListener("progress", (event) => {
      const share = event.total ? Math.floor((100 * event.loaded) / event.total) : 0;
      status.textContent = "Copying: " + share + "%";
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
        status.textContent = answer.error;
      }
    });
    request.addEventListener("error", () => {
      status.textContent = OFFLINE;
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

  // A file that is dropped outside a form must not replace the page.
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

  function showOffline(isOffline) {
    const note = document.getElementById("offline");
    if (note) {
      note.textContent = isOffline ? OFFLINE : "";
      note.hidden = !isOffline;
    }
  }

  // Polling also shows when the workbench does not answer.
  document.addEventListener("htmx:sendError", () => showOffline(true));
  document.addEventListener("htmx:responseError", (event) => showOffline(event.detail.xhr.status === 403));
  document.addEventListener("htmx:afterOnLoad", () => showOffline(false));
})();
