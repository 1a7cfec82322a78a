"""The reset `none`, for programs written for it: the process is used again, and the same code runs
again in the same __main__. Request, directory and streams are replaced, nothing else.

Lives in one namespace with the other files (see start.py).
"""


def run_until_the_end(code, request, learned):
    """Returns at the worker's end, or in a child that the script forked, with its exit code."""
    while True:
        exit_code = run_once(code, sys.modules["__main__"].__dict__)
        if not flush():
            exit_code = 120  # the interpreter's code for this
        learned.report()
        if ask(b"next/%d" % exit_code) is None:
            return 0 if os.getpid() == request.pid else exit_code
        request.take_next()


def run_once(code, names):
    try:
        exec(code, names)
        return 0
    except SystemExit as error:
        if error.code is not None and not isinstance(error.code, int):
            print(error.code, file=sys.stderr)
        return exit_code_of(error)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        uncaught = error
    return show(uncaught)


def show(error):
    """Shows an error that nobody caught as the interpreter does."""
    shown = its_own(error)
    try:
        sys.excepthook(*shown)
    except SystemExit as end:
        return exit_code_of(end)
    except BaseException as another:
        print("Error in sys.excepthook:", file=sys.stderr)
        sys.__excepthook__(*its_own(another))
        print("\nOriginal exception was:", file=sys.stderr)
        sys.__excepthook__(*shown)
    return 1


def its_own(error):
    error.__traceback__ = without_our_frames(error.__traceback__)
    return type(error), error, error.__traceback__
