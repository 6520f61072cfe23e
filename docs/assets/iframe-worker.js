// Search in pages opened from the disk. Browsers refuse workers there, so the theme's search worker
// runs in a hidden frame that speaks the same messages. The theme looks for the name IFrameWorker.
if (location.protocol === "file:") {
  class IFrameWorker extends EventTarget {
    constructor(url) {
      super();
      this.waiting = [];
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      this.frame.srcdoc =
        "<script>" +
        "self.postMessage = (data) => parent.dispatchEvent(new MessageEvent('priste-worker', { data }));" +
        "self.importScripts = (...urls) => Promise.all(urls.map((url) => new Promise((loaded, failed) => {" +
        "const script = document.createElement('script'); script.src = url;" +
        "script.onload = loaded; script.onerror = failed; document.body.append(script); })));" +
        `</script><script src="${url}"></script>`;
      window.addEventListener("priste-worker", ({ data }) =>
        this.dispatchEvent(new MessageEvent("message", { data })),
      );
      this.frame.addEventListener("load", () => {
        const waiting = this.waiting;
        this.waiting = null;
        waiting.forEach((data) => this.postMessage(data));
      });
      document.body.append(this.frame);
    }

    postMessage(data) {
      if (this.waiting) this.waiting.push(data);
      else this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data }));
    }

    terminate() {
      this.frame.remove();
    }
  }
  window.IFrameWorker = IFrameWorker;
  window.Worker = IFrameWorker;
}
