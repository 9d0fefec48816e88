#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A web server for tests: serve.py FOLDER PORT_FILE.

Serves FOLDER on a free port of 127.0.0.1, which it writes into PORT_FILE, and each request into
PORT_FILE.log: the requested target, Range and If-Range ("-": absent). It is also a proxy for http:
for http://ANY.HOST/X it serves X itself.

/redirect/X  a redirect to the plain http://.../X
/cut/X       always announces twice the bytes that it sends
/broken/X    sends half of X and closes the connection; later requests get the requested part
/changed/X   likewise, but by then X has another ETag
/unnamed/X   likewise, but without an ETag or a date
/moved/X     likewise, but sends another part than the requested one; a later request without Range gets all of X
/busy/X      answers 503 twice, then X
/down/X      answers 503
/drip/X      announces a megabyte, and sends ten bytes per second without end
/dawdle/X    sends a header without end, equally slowly
"""
import functools
import http.server
import os
import sys
import time
import urllib.parse


class Handler(http.server.SimpleHTTPRequestHandler):
    asked = {}  # number of requests for each path

    def do_GET(self):
        if not self.path.startswith("/"):
            self.path = urllib.parse.urlsplit(self.path).path
        path = urllib.parse.urlsplit(self.path).path
        kind, _, name = path[1:].partition("/")
        count = self.asked[path] = self.asked.get(path, 0) + 1
        if kind == "redirect":
            self.send_response(302)
            self.send_header("Location", "http://%s/%s" % (self.headers["Host"], name))
            self.end_headers()
        elif kind == "cut":
            self.send_response(200)
            self.send_header("Content-Length", "2000")
            self.end_headers()
            self.wfile.write(b"x" * 1000)
        elif kind in ("drip", "dawdle"):
            self.drip(kind)
        elif kind in ("broken", "changed", "unnamed", "moved"):
            with open(os.path.join(self.directory, name), "rb") as f:
                self.send_part(kind, f.read(), count)
        elif kind == "down" or kind == "busy" and count <= 2:
            self.send_error(503)
        else:
            if kind == "busy":
                self.path = "/" + name
            super().do_GET()

    def drip(self, kind):
        self.send_response(200)
        if kind == "drip":
            self.send_header("Content-Length", "1000000")
            self.end_headers()
        else:
            self.flush_headers()
            self.wfile.write(b"X-Slow: ")
        try:
            while True:
                self.wfile.write(b"x")
                time.sleep(0.1)
        except OSError:
            self.close_connection = True  # the client closed the connection

    def send_part(self, kind, content, count):
        etag = '"%d"' % (count if kind == "changed" else 1)
        begin, asked = 0, self.headers["Range"]
        if asked and (self.headers["If-Range"] or etag) == etag:
            begin = int(asked[len("bytes="):].rstrip("-"))
        if begin and kind == "moved":
            begin -= 1
        self.send_response(206 if begin else 200)
        self.send_header("Content-Length", str(len(content) - begin))
        if kind != "unnamed":
            self.send_header("ETag", etag)
        if begin:
            self.send_header("Content-Range", "bytes %d-%d/%d" % (begin, len(content) - 1, len(content)))
        self.end_headers()
        self.wfile.write(content[begin:] if count > 1 else content[:len(content) // 2])

    def log_request(self, code="-", size="-"):
        self.log_file.write("%s %s %s\n" % (self.requestline.split()[1], self.headers["Range"] or "-",
                                            self.headers["If-Range"] or "-"))
        self.log_file.flush()

    def log_message(self, *_):
        pass


def main():
    folder, port_file = sys.argv[1:]
    handler = functools.partial(Handler, directory=folder)
    Handler.log_file = open(port_file + ".log", "w")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        with open(port_file + ".new", "w") as f:
            f.write("%d\n" % server.server_port)
        os.rename(port_file + ".new", port_file)
        server.serve_forever()


main()
