"""moto under Werkzeug: the requests of all connections one after the other.

By itself it looks at a condition and writes in two steps, which requests of other threads come between.
"""

import logging
import sys
import threading

from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import run_simple

one_at_a_time = threading.Lock()
moto = DomainDispatcherApplication(create_backend_app)


def app(environ, start_response):
    with one_at_a_time:
        return moto(environ, start_response)


logging.getLogger("werkzeug").setLevel(logging.ERROR)
run_simple("127.0.0.1", int(sys.argv[1]), app, threaded=True)
