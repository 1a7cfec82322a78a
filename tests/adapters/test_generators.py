"""OpenSSL, GnuTLS, libgcrypt and NSS notice a fork, so they may seed themselves while a program loads. But a
key, a number or a prime that the program asks them for at load would be one for all its visitors."""

import os
import subprocess

import pytest

from driver import (LAUNCH_ENV, REQUEST_ENV, SHALLOWER, WARNING, Warm, Zygote, adapters_dir, library,
                    run_plainly)
from ruby import RUBY, command

PYTHON, PERL = "/usr/bin/python3", "/usr/bin/perl"
TIMES = 4
OPENSSL, GNUTLS, GCRYPT, NSS = "libcrypto.so.3", "libgnutls.so.30", "libgcrypt.so.20", "libnss3.so"

PROGRAM = r"""
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
typedef struct { void *data; unsigned size; } datum;
void *BN_new(void); void *BN_value_one(void); char *BN_bn2hex(void *); int BN_set_word(void *, unsigned long);
void *EVP_PKEY_CTX_new_id(int, void *); void *EVP_PKEY_Q_keygen(void *, char *, char *, ...);
void *RSA_new(void); void *EC_KEY_new_by_curve_name(int); void *EC_KEY_get0_private_key(void *);
void *gcry_mpi_new(unsigned);
static unsigned long n;
static char *early = "none";
static void *big(void) { static void *made; return made ? made : (made = BN_new()); }
static void *limit(void) { static void *made; BN_set_word(made = made ? made : BN_new(), ~0ul);
  return made; }
static void *pair(int kind) {
  void *about = EVP_PKEY_CTX_new_id(kind, 0), *key = 0;
  EVP_PKEY_keygen_init(about); EVP_PKEY_keygen(about, &key); return key; }
static int raw(void *key) { unsigned char b[32]; size_t s = 32; EVP_PKEY_get_raw_private_key(key, b, &s);
  memcpy(&n, b, 8); return 1; }
static int curve(void) { void *key = EC_KEY_new_by_curve_name(415); EC_KEY_generate_key(key);
  early = BN_bn2hex(EC_KEY_get0_private_key(key)); return 1; }
static int prime(void) { BN_generate_prime_ex(big(), 64, 0, 0, 0, 0); early = BN_bn2hex(big()); return 1; }
static int opened(char *name, char *function) {
  return ((int (*)(void *, int))dlsym(dlopen(name, RTLD_NOW), function))(&n, 8); }
static int drawn(void) { %s; return 1; }
__attribute__((constructor)) static void init(void) { drawn(); }
int main() { if (strcmp(early, "none")) puts(early); else printf("%%lx\n", n); return 0; }
"""

DRAWS = {
    "bytes": (OPENSSL, "RAND_bytes(&n, 8)"), "more bytes": (OPENSSL, "RAND_bytes_ex(0, &n, 8l, 0)"),
    "private bytes": (OPENSSL, "RAND_priv_bytes_ex(0, &n, 8l, 0)"),
    "old bytes": (OPENSSL, "RAND_pseudo_bytes(&n, 8)"),
    "a big number": (OPENSSL, "BN_rand(big(), 64, -1, 0); early = BN_bn2hex(big())"),
    "a private number": (OPENSSL, "BN_priv_rand_range(big(), limit()); early = BN_bn2hex(big())"),
    "a prime": (OPENSSL, "prime()"), "a curve's key": (OPENSSL, "curve()"),
    "a key": (OPENSSL, "raw(pair(1034))"),
    "a key at once": (OPENSSL, "raw(EVP_PKEY_Q_keygen(0, 0, \"X25519\"))"),
    "bytes by the loader": (None, f"opened(\"{OPENSSL}\", \"RAND_bytes\")"),
    "a nonce by the loader": (None, f"opened(\"{GCRYPT}\", \"gcry_create_nonce\")"),
    "bytes of GnuTLS": (GNUTLS, "gnutls_rnd(2, &n, 8l)"),
    "a key of GnuTLS": (GNUTLS, "datum d; gnutls_key_generate(&d, 16); memcpy(&n, d.data, 8)"),
    "a ticket's key": (GNUTLS, "datum d; gnutls_session_ticket_key_generate(&d); memcpy(&n, d.data, 8)"),
    "bytes of gcrypt": (GCRYPT, "gcry_randomize(&n, 8l, 1)"),
    "a nonce": (GCRYPT, "gcry_create_nonce(&n, 8l)"),
    "a number of gcrypt": (GCRYPT, "void *m = gcry_mpi_new(64); gcry_mpi_randomize(m, 64, 0); "
                           "gcry_mpi_print(5, &n, 8l, 0, m)"),
    "bytes of NSS": (NSS, "NSS_NoDB_Init(0); PK11_GenerateRandom(&n, 8)"),
}


def compiled(folder, name, text, *libraries):
    try:
        return folder.compile(name, text, "-Wl,--no-as-needed", *(f"-l:{one}" for one in libraries if one))
    except subprocess.CalledProcessError:
        pytest.skip(f"no {libraries} to link with")


@pytest.mark.parametrize("kind", DRAWS)
def test_a_native_program_that_asks_a_generator_before_main_is_not_warm(folder, kind):
    needed, text = DRAWS[kind]
    program = compiled(folder, "early.c", PROGRAM % text, needed or OPENSSL)
    assert len({run_plainly([program]).text for _ in range(3)}) == 3
    with Zygote([program], reset="rewind", accept="pid,time,files" if needed == NSS else "") as zygote:
        assert not zygote.stands
        assert "random" in zygote.note(SHALLOWER)[0], zygote.notes


LATE = r"""
#include <stdio.h>
int main() {
  unsigned long n[4];
  RAND_bytes(&n[0], 8); gnutls_rnd(2, &n[1], 8l); gcry_randomize(&n[2], 8l, 1); gnutls_rnd(0, &n[3], 8l);
  for (int i = 0; i < 4; ++i) printf("%lx\n", n[i]);
  return 0;
}
"""


@pytest.mark.parametrize("reset", ["fork", "rewind"])
def test_the_libraries_own_seeds_are_harmless(folder, reset):
    program = compiled(folder, "late.c", LATE, OPENSSL, GNUTLS, GCRYPT, NSS, "libssl.so.3")
    with Warm([program], reset=reset, verify=False) as warm:
        assert warm.stands, warm.notes
        drawn = [line for _ in range(TIMES) for line in warm.ask().text.split()]
        assert len(set(drawn)) == 4 * TIMES


FINDS = r"""
#include <dlfcn.h>
#include <stdio.h>
int main() {
  void *own = dlopen(0, RTLD_NOW);
  printf("%d%d", dlsym(RTLD_DEFAULT, "BN_rand") != 0, dlsym(own, "BN_rand") != 0);
  void *openssl = dlopen("libcrypto.so.3", RTLD_NOW);
  printf("%d%d", dlsym(openssl, "BN_rand") != 0, dlsym(RTLD_DEFAULT, "BN_rand") != 0);
  dlopen("libcrypto.so.3", RTLD_NOW | RTLD_GLOBAL);
  printf("%d%d\n", dlsym(openssl, "BN_rand") != 0, dlsym(RTLD_DEFAULT, "BN_rand") != 0);
}
"""


def test_a_program_finds_only_the_generators_that_it_has(folder):
    program = folder.compile("finds.c", FINDS)
    plain = run_plainly([program])
    assert plain.text == "001011\n"
    assert run_plainly([program], env={**REQUEST_ENV, "LD_PRELOAD": library()}).seen() == plain.seen()


PYTHON_DRAWS = {
    "bytes": "import ssl; key = ssl.RAND_bytes(8).hex()",
    "bytes by ctypes": ("import ctypes; b = ctypes.create_string_buffer(8)\n"
                        "ctypes.CDLL('libcrypto.so.3').RAND_bytes(b, 8); key = b.raw.hex()"),
    "a nonce by ctypes": ("import ctypes; b = ctypes.create_string_buffer(8)\n"
                          "ctypes.CDLL('libgcrypt.so.20').gcry_create_nonce(b, 8); key = b.raw.hex()"),
    "a key of cryptography": (
        "from cryptography.hazmat.primitives.asymmetric import ec\n"
        "key = ec.generate_private_key(ec.SECP256R1()).private_numbers().private_value"),
    "a certificate's time": ("from OpenSSL import crypto; c = crypto.X509(); c.gmtime_adj_notBefore(0)\n"
                             "key = c.get_notBefore()"),
}


@pytest.mark.parametrize("kind", PYTHON_DRAWS)
def test_a_python_module_that_asks_a_generator_is_not_loaded_ahead(folder, kind):
    folder.script("lib/draws.py", PYTHON_DRAWS[kind] + "\n")
    script = folder.script("x.py", "import draws\nprint(draws.key)\n")
    env = {**REQUEST_ENV, "PYTHONPATH": str(folder.path / "lib")}
    if run_plainly([PYTHON, script], env=env).code != 0:
        pytest.skip("this library is not installed")
    line = [PYTHON, f"{adapters_dir()}/python/start.py", "--preload=ssl,ctypes,draws", script]
    with Warm(line, level="compiled", env={**LAUNCH_ENV, "PYTHONPATH": env["PYTHONPATH"]}) as zygote:
        assert zygote.stands, (zygote.notes, zygote.log())
        assert any("draws" in text and ("random" in text or "time" in text)
                   for text in zygote.note(WARNING)), zygote.notes
        assert not any("ctypes" in text.split(":")[0] for text in zygote.note(WARNING)), zygote.notes
        zygote.argv = [PYTHON, script]
        drawn = {zygote.ask(env=env).text for _ in range(TIMES)}
        assert len(drawn) == TIMES or "time" in kind


PERL_DRAWS = {
    "Net::SSLeay": "use Net::SSLeay; Net::SSLeay::RAND_bytes(my $b, 8); our $key = unpack 'H*', $b;",
    "Crypt::OpenSSL::RSA": ("use Crypt::OpenSSL::RSA; "
                            "our $key = Crypt::OpenSSL::RSA->generate_key(1024)->get_private_key_string;"),
}


@pytest.mark.parametrize("name", PERL_DRAWS)
def test_a_perl_script_that_asks_a_generator_while_it_compiles_is_compiled_in_each_request(folder, name):
    script = folder.script("x.pl", "BEGIN { " + PERL_DRAWS[name] + " }\nprint \"$main::key\\n\";\n")
    if run_plainly([PERL, script]).code != 0:
        pytest.skip(f"{name} is not installed")
    line = [PERL, f"-I{adapters_dir()}/perl", "-MCGIBridge", script]
    with Warm(line, level="compiled") as zygote:
        assert zygote.stands and zygote.level == 2, (zygote.notes, zygote.log())
        zygote.argv = [PERL, script]
        assert len({zygote.ask().text for _ in range(TIMES)}) == TIMES


PUBLIC_KEY = ("MFwwDQYJKoZIhvcNAQEBBQADSwAwSAJBAMbq10FMgWCQdsmfTXyy0KK9jr3CQu2q6xfXOolol0o5"
              "wtJzJnOCMfRKvbv6N42DdglsXoQo4qPVj/RQWHOK+0UCAwEAAQ==")
RUBY_DRAWS = {
    "a big number": "OpenSSL::BN.rand(64).to_s", "a prime": "OpenSSL::BN.generate_prime(64).to_s",
    "a key": "OpenSSL::PKey::RSA.new(1024).to_pem",  # in a thread
    "a curve's key": "OpenSSL::PKey::EC.generate('prime256v1').to_pem",
    "a cipher's key": "OpenSSL::Cipher.new('aes-128-cbc').encrypt.random_key.unpack1('H*')",
    "what is encrypted": (f"OpenSSL::PKey::RSA.new('{PUBLIC_KEY}'.unpack1('m'))"
                          ".public_encrypt('x').unpack1('H*')"),
}


@pytest.mark.skipif(not os.path.exists(RUBY), reason="ruby is not installed")
@pytest.mark.parametrize("kind", RUBY_DRAWS)
def test_a_ruby_library_that_asks_a_generator_is_not_loaded_ahead(folder, kind):
    folder.script("installed/draws.rb", f"require 'openssl'\nKEY = {RUBY_DRAWS[kind]}\n")
    script = folder.script("x.rb", "require 'draws'\nputs KEY.delete(\"\\n\")\n")
    env = {"RUBYLIB": str(folder.path / "installed")}
    line = command(script, preload="openssl,draws")
    with Warm(line, level="compiled", env={**LAUNCH_ENV, **env}) as zygote:
        assert zygote.stands, (zygote.notes, zygote.log())
        assert any("draws" in text and ("random" in text or kind == "a key") for text in zygote.note(WARNING))
        assert not any("openssl" in text.split(":")[0] for text in zygote.note(WARNING)), zygote.notes
        zygote.argv = [RUBY, script]
        drawn = {zygote.ask(env={**REQUEST_ENV, **env}).text for _ in range(TIMES)}
        assert len(drawn) == TIMES
