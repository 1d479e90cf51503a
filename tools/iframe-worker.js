// A Worker for pages that were opened as files. Browsers refuse workers from file: addresses, and the site's search runs in one.
// The script runs in a hidden frame instead; messages go through the same two methods.
if (location.protocol === "file:") {
  window.Worker = window.IFrameWorker = class extends EventTarget {
    constructor(address) {
      super()
      this.waiting = []
      this.frame = document.createElement("iframe")
      this.frame.hidden = true
      document.documentElement.append(this.frame)
      const inside = this.frame.contentWindow
      inside.postMessage = (data) => {
        const event = new MessageEvent("message", { data })
        this.dispatchEvent(event)
        if (this.onmessage) this.onmessage(event)
      }
      inside.importScripts = (...scripts) =>
        scripts.reduce((before, script) => before.then(() => this.load(script)), Promise.resolve())
      this.load(address).then(() => {
        const waiting = this.waiting
        this.waiting = null
        waiting.forEach((data) => this.postMessage(data))
      })
    }

    load(address) {
      return new Promise((done, failed) => {
        const page = this.frame.contentDocument
        const script = page.createElement("script")
        script.src = new URL(address, document.baseURI)
        script.onload = done
        script.onerror = failed
        page.documentElement.append(script)
      })
    }

    postMessage(data) {
      if (this.waiting) {
        this.waiting.push(data)
        return
      }
      const inside = this.frame.contentWindow
      inside.dispatchEvent(new inside.MessageEvent("message", { data }))
    }

    terminate() {
      this.frame.remove()
    }
  }
}
