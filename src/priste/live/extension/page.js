// Runs in pages, before their own scripts. The browser's own geolocation is never called from here:
// a site that may have it does not get this script at all. What the page could forge on the way to
// bridge.js only changes what it is given itself.
(() => {
  if (!window.isSecureContext || !("geolocation" in navigator)) return;
  const EVERY = 15000;
  const waiting = new Map();
  const watches = new Map();
  let number = 0;

  document.addEventListener("priste-answer", (event) => {
    const { id, answer } = JSON.parse(event.detail);
    waiting.get(id)?.(answer);
    waiting.delete(id);
  });

  const ask = () =>
    new Promise((done) => {
      const id = ++number;
      waiting.set(id, done);
      document.dispatchEvent(new CustomEvent("priste-ask", { detail: String(id) }));
    });

  const like = (kind, values) => {
    const own = { ...values, toJSON: () => values };
    return Object.create(kind.prototype, Object.getOwnPropertyDescriptors(own));
  };

  const failure = (message) => {
    const codes = { code: 2, PERMISSION_DENIED: 1, POSITION_UNAVAILABLE: 2, TIMEOUT: 3 };
    return like(GeolocationPositionError, { ...codes, message });
  };

  const position = (answer) => {
    const none = { altitude: null, altitudeAccuracy: null, heading: null, speed: null };
    const { latitude, longitude, accuracy, timestamp } = answer;
    const coords = like(GeolocationCoordinates, { latitude, longitude, accuracy, ...none });
    return like(GeolocationPosition, { coords, timestamp });
  };

  const give = (answer, success, error) => {
    if (answer.failed) error?.(failure(answer.failed));
    else success(position(answer));
  };

  const replacement = {
    getCurrentPosition(success, error) {
      ask().then((answer) => give(answer, success, error));
    },
    watchPosition(success, error) {
      const id = ++number;
      let before;
      const look = async () => {
        const answer = await ask();
        const text = JSON.stringify(answer);
        if (!watches.has(id) || text === before) return;
        before = text;
        give(answer, success, error);
      };
      watches.set(id, setInterval(look, EVERY));
      look();
      return id;
    },
    clearWatch(id) {
      clearInterval(watches.get(id));
      watches.delete(id);
    },
  };
  for (const [name, value] of Object.entries(replacement))
    Object.defineProperty(Geolocation.prototype, name, { value, writable: false });

  // The browser's own answer is "denied", which would keep a page from asking.
  const query = Permissions.prototype.query;
  Permissions.prototype.query = async function (asked) {
    const status = await query.call(this, asked);
    if (asked?.name === "geolocation") Object.defineProperty(status, "state", { value: "granted" });
    return status;
  };
})();
