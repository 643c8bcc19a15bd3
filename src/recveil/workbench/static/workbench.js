// What htmx does not do: a file that is dropped is sent as it is, and the page says how far it is.
(function () {
  "use strict";

  const change = () => document.querySelector("meta[name=recveil-change]").content;

  function send(form, file) {
    const told = form.querySelector("[role=status]");
    const request = new XMLHttpRequest();
    request.open("PUT", form.dataset.upload);
    request.setRequestHeader("x-recveil-change", change());
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
      told.textContent = "The workbench does not answer; look where it was started.";
    });
    request.send(file);
  }

  function listen(form) {
    const field = form.querySelector("input[type=file]");
    field.addEventListener("change", () => field.files.length && send(form, field.files[0]));
    form.addEventListener("submit", (event) => event.preventDefault());
    for (const name of ["dragenter", "dragover"]) {
      form.addEventListener(name, (event) => {
        event.preventDefault();
        form.classList.add("over");
      });
    }
    form.addEventListener("dragleave", () => form.classList.remove("over"));
    form.addEventListener("drop", (event) => {
      event.preventDefault();
      form.classList.remove("over");
      if (event.dataTransfer.files.length) {
        send(form, event.dataTransfer.files[0]);
      }
    });
  }

  // Parts of a page are exchanged; each form is listened to once.
  function prepare() {
    for (const form of document.querySelectorAll("form[data-upload]:not([data-ready])")) {
      form.dataset.ready = "yes";
      listen(form);
    }
  }

  // A file that is dropped beside must not be opened instead of the page.
  for (const name of ["dragover", "drop"]) {
    window.addEventListener(name, (event) => event.preventDefault());
  }
  document.addEventListener("DOMContentLoaded", prepare);
  document.addEventListener("htmx:afterSwap", prepare);
})();
