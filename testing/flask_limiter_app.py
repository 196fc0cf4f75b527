"""Started by the script `flask-limiter` beside this file, which says what the arguments are."""

from flask import Flask
from flask_limiter import Limiter


def app(strategy, limit, window_s):
    served = Flask(__name__)
    Limiter(
        # Everybody is one client, also over a Unix socket, where nobody has an address.
        lambda: "everybody",
        app=served,
        application_limits=[f"{limit} per {window_s} seconds"],
        headers_enabled=True,
        storage_uri="memory://",
        strategy=strategy,
    )

    # Also for /robots.txt, of which every line is then unknown: it allows everything.
    @served.get("/<path:_path>")
    def page(_path):
        return "ok\n", {"Content-Type": "text/plain"}

    return served
