"""The REST interface of Qdrant, as far as its JavaScript client is used here, on the local mode of the Python client.

For tests on machines without a Qdrant: filters, scores and their order are those of the package that Qdrant's own
authors keep equal to the server. One process, one lock: it is there to be right, not to be fast.

    python front.py --run PID [--port N] [--storage FOLDER] [--api-key KEY] [--note FILE]

prints `ready URL`, writes the URL to FILE, and ends with the process PID, however that ends.
"""

import argparse
import json
import os
import re
import shutil
import sys
import threading
import time
import warnings
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import version
from urllib.parse import unquote, urlsplit

from pydantic import BaseModel, ValidationError
from qdrant_client import QdrantClient, models

LOOK_SECONDS = 0.5

# Local mode says of each index and search parameter that it has no effect.
warnings.filterwarnings("ignore")


class Refused(Exception):
    def __init__(self, status: int, text: str):
        super().__init__(text)
        self.status = status


class Store:
    """What the routes do. Answers are what stands under `result`."""

    def __init__(self, storage):
        place = {"location": ":memory:"} if storage is None else {"path": storage}
        self.client = QdrantClient(**place, force_disable_check_same_thread=True)
        self.indexes = {}
        self.lock = threading.Lock()

    def collections(self, _body):
        return self.client.get_collections()

    def collection(self, _body, name):
        info = plain(self.client.get_collection(name))
        # Local mode has no indexes and says so; a server lists them.
        info["payload_schema"] = {key: {"data_type": kind, "points": 0} for key, kind in self.indexes.get(name, {}).items()}
        return info

    def create(self, body, name):
        request = models.CreateCollection.model_validate(body)
        return self.client.create_collection(
            name,
            vectors_config=request.vectors,
            sparse_vectors_config=request.sparse_vectors,
            metadata=request.metadata,
        )

    def drop(self, _body, name):
        self.indexes.pop(name, None)
        return self.client.delete_collection(name)

    def index(self, body, name):
        request = models.CreateFieldIndex.model_validate(body)
        schema = request.field_schema
        self.client.get_collection(name)
        self.indexes.setdefault(name, {})[request.field_name] = plain(getattr(schema, "type", schema))
        return done()

    def upsert(self, body, name):
        request = models.PointsList.model_validate(body)
        return self.client.upsert(name, request.points, update_filter=request.update_filter)

    def retrieve(self, body, name):
        request = models.PointRequest.model_validate(body)
        return self.client.retrieve(
            name, request.ids, with_payload=request.with_payload, with_vectors=request.with_vector or False
        )

    def delete(self, body, name):
        return self.client.delete(name, selector(body))

    def set_payload(self, body, name):
        request = models.SetPayload.model_validate(body)
        return self.client.set_payload(name, request.payload, points=selector(body), key=request.key)

    def scroll(self, body, name):
        request = models.ScrollRequest.model_validate(body)
        points, following = self.client.scroll(
            name,
            scroll_filter=request.filter,
            limit=request.limit or 10,
            offset=request.offset,
            with_payload=request.with_payload,
            with_vectors=request.with_vector or False,
        )
        return {"points": points, "next_page_offset": following}

    def count(self, body, name):
        return self.client.count(name, count_filter=models.CountRequest.model_validate(body).filter)

    def query(self, body, name):
        request = models.QueryRequest.model_validate(body)
        return self.client.query_points(
            name,
            query=request.query,
            prefetch=request.prefetch,
            using=request.using,
            query_filter=request.filter,
            search_params=request.params,
            limit=request.limit or 10,
            score_threshold=request.score_threshold,
            with_payload=request.with_payload,
            with_vectors=request.with_vector or False,
        )


ROUTES = [
    ("GET", r"/collections", Store.collections),
    ("GET", r"/collections/([^/]+)", Store.collection),
    ("PUT", r"/collections/([^/]+)", Store.create),
    ("DELETE", r"/collections/([^/]+)", Store.drop),
    ("PUT", r"/collections/([^/]+)/index", Store.index),
    ("PUT", r"/collections/([^/]+)/points", Store.upsert),
    ("POST", r"/collections/([^/]+)/points", Store.retrieve),
    ("POST", r"/collections/([^/]+)/points/delete", Store.delete),
    ("POST", r"/collections/([^/]+)/points/payload", Store.set_payload),
    ("POST", r"/collections/([^/]+)/points/scroll", Store.scroll),
    ("POST", r"/collections/([^/]+)/points/count", Store.count),
    ("POST", r"/collections/([^/]+)/points/query", Store.query),
]


def done():
    return models.UpdateResult(operation_id=0, status=models.UpdateStatus.COMPLETED)


def selector(body):
    if body.get("points") is not None:
        return models.PointIdsList(points=body["points"])
    return models.FilterSelector(filter=models.Filter.model_validate(body["filter"]))


def plain(value):
    """A result as JSON can hold it."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return getattr(value, "value", value)


def refusal(error):
    """The status with which a server would refuse."""
    text = str(error)
    if isinstance(error, Refused):
        return error.status, text
    if "not found" in text:
        return 404, text
    if "already exists" in text:
        return 409, text
    if isinstance(error, (ValidationError, ValueError, KeyError, TypeError)):
        return 400, f"Wrong input: {text}"
    return 500, text


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    # Head and body leave in one piece.
    wbufsize = -1

    def respond(self):
        length = int(self.headers.get("content-length") or 0)
        text = self.rfile.read(length)
        try:
            body = json.loads(text) if text else {}
            status, answer = 200, self.answer(urlsplit(self.path).path, body)
        except Exception as error:  # whatever it is, the caller has to hear of it
            status, reason = refusal(error)
            answer = {"status": {"error": reason}, "time": 0.0}
        out = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(out)))
        self.end_headers()
        self.wfile.write(out)

    do_GET = do_PUT = do_POST = do_DELETE = respond

    def answer(self, path, body):
        if path == "/":
            return {"title": "Qdrant's local mode behind a REST front", "version": version("qdrant-client")}
        key = self.server.api_key
        if key is not None and self.headers.get("api-key") != key:
            raise Refused(401, "Must provide an API key or an Authorization bearer token")
        for method, pattern, route in ROUTES:
            match = re.fullmatch(pattern, path)
            if method == self.command and match:
                with self.server.store.lock:
                    result = route(self.server.store, body, *(unquote(part) for part in match.groups()))
                return {"result": plain(result), "status": "ok", "time": 0.0}
        raise Refused(404, f"{self.command} {path} is not of this front")

    def log_message(self, *_):
        """Tests read their own output."""


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


def is_alive(pid):
    try:
        os.kill(pid, 0)
        return True
    except OSError:
        return False


def end_with(pid, note, storage):
    while is_alive(pid):
        time.sleep(LOOK_SECONDS)
    if note is not None and os.path.exists(note):
        os.remove(note)
    if storage is not None:
        shutil.rmtree(storage, ignore_errors=True)
    os._exit(0)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--run", type=int, required=True)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--storage")
    parser.add_argument("--api-key")
    parser.add_argument("--note")
    options = parser.parse_args()
    server = Server(("127.0.0.1", options.port), Handler)
    server.api_key = options.api_key
    server.store = Store(options.storage)
    url = f"http://127.0.0.1:{server.server_port}"
    if options.note is not None:
        with open(f"{options.note}.part", "w", encoding="utf-8") as file:
            file.write(url)
        os.replace(f"{options.note}.part", options.note)
    threading.Thread(target=end_with, args=(options.run, options.note, options.storage), daemon=True).start()
    print(f"ready {url}", flush=True)
    sys.stdout.close()
    server.serve_forever()


if __name__ == "__main__":
    main()
