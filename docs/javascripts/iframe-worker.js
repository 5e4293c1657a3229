// A page that is read from disk may start no worker, so that the search of the theme would not answer. There a hidden
// frame takes the worker's place: it runs the worker's script, and messages go to and fro as events. Elsewhere this
// file does nothing. Its name tells the theme that no such script is to be fetched from a public server.
"use strict";

class FrameWorker extends EventTarget {
  constructor(address) {
    super();
    this.onmessage = this.onerror = null;
    this.frame = document.createElement("iframe");
    this.frame.hidden = true;
    document.body.append(this.frame);
    const inside = this.frame.contentWindow;
    this.ready = new Promise((done) => {
      inside.document.open();
      inside.document.write("<!doctype html><html><body></body></html>");
      inside.document.close();
      inside.postMessage = (data) => this.told(new MessageEvent("message", { data }));
      inside.importScripts = (...addresses) => Promise.all(addresses.map((each) => this.run(each)));
      this.run(address).then(done);
    });
  }

  run(address) {
    return new Promise((done, failed) => {
      const script = this.frame.contentDocument.createElement("script");
      script.src = address;
      script.onload = done;
      script.onerror = failed;
      this.frame.contentDocument.body.append(script);
    });
  }

  told(event) {
    this.dispatchEvent(event);
    if (this.onmessage) this.onmessage(event);
  }

  postMessage(data) {
    const inside = this.frame.contentWindow;
    this.ready.then(() => inside.dispatchEvent(new inside.MessageEvent("message", { data })));
  }

  terminate() {
    this.frame.remove();
  }
}

if (location.protocol === "file:") window.Worker = FrameWorker;
