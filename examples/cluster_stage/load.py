"""The load, inside the web server's namespace: GET and POST in turn at a constant rate, whatever the answers
take. Prints one JSON object per request: method, token, status (0: no answer), ms, host."""
import http.client
import json
import sys
import threading
import time

LANES = 16


def ask(method, token):
    begun = time.monotonic()
    status, host = 0, ""
    connection = http.client.HTTPConnection("127.0.0.1", 8080, timeout=15)
    try:
        connection.request(method, f"/cgi-bin/{method.lower()}.cgi?{token}",
                           body="x" if method == "POST" else None)
        answer = connection.getresponse()
        text = answer.read().decode()
        status = answer.status
        # A whole answer of the right program to this very request.
        words = text.split()
        if status == 200 and (len(words) != 3 or words[1] != token):
            status = -1
        host = words[0] if status == 200 else ""
    except (OSError, http.client.HTTPException):
        status = 0
    finally:
        connection.close()
    return {"method": method, "token": token, "status": status, "host": host,
            "ms": round(1000 * (time.monotonic() - begun), 1)}


def main():
    seconds, rate, name = float(sys.argv[1]), float(sys.argv[2]), sys.argv[3]
    begun, out, lock = time.monotonic(), [], threading.Lock()
    numbers = iter(range(int(seconds * rate)))

    def lane():
        while True:
            with lock:
                number = next(numbers, None)
            if number is None:
                return
            time.sleep(max(0.0, begun + number / rate - time.monotonic()))
            done = ask("POST" if number % 2 else "GET", f"{name}-{number}")
            with lock:
                out.append(done)

    threads = [threading.Thread(target=lane) for _ in range(LANES)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for one in out:
        print(json.dumps(one))


main()
