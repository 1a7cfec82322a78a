#!/usr/bin/python3
# Burns as many seconds of CPU time as its query says, and answers.
import os
import time

begun = time.process_time()
while time.process_time() - begun < float(os.environ["QUERY_STRING"]):
    pass
print("Content-Type: text/plain\n\nburnt")
