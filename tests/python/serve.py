#!/usr/bin/env python3
"""A web server for tests: serve.py FOLDER PORT_FILE.

Serves FOLDER on a free port of 127.0.0.1, which it writes into PORT_FILE. /redirect/X answers with a
redirect to the plain http://.../X; /cut/X promises twice the bytes that it sends.
"""
import functools
import http.server
import os
import sys


class Handler(http.server.SimpleHTTPRequestHandler):
    def do_GET(self):
        if self.path.startswith("/redirect/"):
            self.send_response(302)
            self.send_header("Location", "http://%s/%s" % (self.headers["Host"], self.path[10:]))
            self.end_headers()
        elif self.path.startswith("/cut/"):
            self.send_response(200)
            self.send_header("Content-Length", "2000")
            self.end_headers()
            self.wfile.write(b"x" * 1000)
        else:
            super().do_GET()

    def log_message(self, *_):
        pass


def main():
    folder, port_file = sys.argv[1:]
    handler = functools.partial(Handler, directory=folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        with open(port_file + ".new", "w") as f:
            f.write("%d\n" % server.server_port)
        os.rename(port_file + ".new", port_file)
        server.serve_forever()


main()
