/* What a program gets from the libraries whose own generators notice a fork. Such a library may
 * seed itself while a program loads; but a key, a number or a prime that the program then asks it
 * for would be one for all visitors, and so would the padding, salt or key of what it has
 * encrypted. (The numbers that a signature needs are never used for another one.) */
#ifndef CGIBRIDGE_GENERATORS_H
#define CGIBRIDGE_GENERATORS_H

/* In the form of passed_calls.h: of OpenSSL, GnuTLS, libgcrypt and NSS. The last ones are OpenSSL's
 * that ask the clock for a program. */
#define CALLS_OF_GENERATORS(X)                                          \
  X(RAND_bytes, 0, RETIRED_NOT, look_at_random)                         \
  X(RAND_bytes_ex, 0, RETIRED_NOT, look_at_random)                      \
  X(RAND_priv_bytes, 0, RETIRED_NOT, look_at_random)                    \
  X(RAND_priv_bytes_ex, 0, RETIRED_NOT, look_at_random)                 \
  X(RAND_pseudo_bytes, 0, RETIRED_NOT, look_at_random)                  \
  X(EVP_RAND_generate, 0, RETIRED_NOT, look_at_random)                  \
  X(EVP_RAND_nonce, 0, RETIRED_NOT, look_at_random)                     \
  X(BN_rand, 0, RETIRED_NOT, look_at_random)                            \
  X(BN_rand_ex, 0, RETIRED_NOT, look_at_random)                         \
  X(BN_rand_range, 0, RETIRED_NOT, look_at_random)                      \
  X(BN_rand_range_ex, 0, RETIRED_NOT, look_at_random)                   \
  X(BN_pseudo_rand, 0, RETIRED_NOT, look_at_random)                     \
  X(BN_pseudo_rand_range, 0, RETIRED_NOT, look_at_random)               \
  X(BN_bntest_rand, 0, RETIRED_NOT, look_at_random)                     \
  X(BN_priv_rand, 0, RETIRED_NOT, look_at_random)                       \
  X(BN_priv_rand_ex, 0, RETIRED_NOT, look_at_random)                    \
  X(BN_priv_rand_range, 0, RETIRED_NOT, look_at_random)                 \
  X(BN_priv_rand_range_ex, 0, RETIRED_NOT, look_at_random)              \
  X(BN_generate_dsa_nonce, 0, RETIRED_NOT, look_at_random)              \
  X(BN_generate_prime, 0, RETIRED_NOT, look_at_random)                  \
  X(BN_generate_prime_ex, 0, RETIRED_NOT, look_at_random)               \
  X(BN_generate_prime_ex2, 0, RETIRED_NOT, look_at_random)              \
  X(BN_X931_generate_prime_ex, 0, RETIRED_NOT, look_at_random)          \
  X(BN_X931_generate_Xpq, 0, RETIRED_NOT, look_at_random)               \
  X(EVP_PKEY_keygen, 0, RETIRED_NOT, look_at_random)                    \
  X(EVP_PKEY_generate, 0, RETIRED_NOT, look_at_random)                  \
  X(EVP_PKEY_paramgen, 0, RETIRED_NOT, look_at_random)                  \
  X(EVP_PKEY_Q_keygen, 0, RETIRED_NOT, look_at_random)                  \
  X(EVP_PKEY_encapsulate, 0, RETIRED_NOT, look_at_random)               \
  X(EVP_PKEY_encrypt, 0, RETIRED_NOT, look_at_random)                   \
  X(RSA_public_encrypt, 0, RETIRED_NOT, look_at_random)                 \
  X(PKCS7_encrypt, 0, RETIRED_NOT, look_at_random)                      \
  X(PKCS7_encrypt_ex, 0, RETIRED_NOT, look_at_random)                   \
  X(CMS_encrypt, 0, RETIRED_NOT, look_at_random)                        \
  X(CMS_encrypt_ex, 0, RETIRED_NOT, look_at_random)                     \
  X(PKCS12_create, 0, RETIRED_NOT, look_at_random)                      \
  X(PKCS12_create_ex, 0, RETIRED_NOT, look_at_random)                   \
  X(PKCS8_encrypt, 0, RETIRED_NOT, look_at_random)                      \
  X(PKCS8_encrypt_ex, 0, RETIRED_NOT, look_at_random)                   \
  X(PKCS5_pbe_set, 0, RETIRED_NOT, look_at_random)                      \
  X(PKCS5_pbe2_set, 0, RETIRED_NOT, look_at_random)                     \
  X(EVP_SealInit, 0, RETIRED_NOT, look_at_random)                       \
  X(EVP_CIPHER_CTX_rand_key, 0, RETIRED_NOT, look_at_random)            \
  X(DES_random_key, 0, RETIRED_NOT, look_at_random)                     \
  X(RSA_generate_key, 0, RETIRED_NOT, look_at_random)                   \
  X(RSA_generate_key_ex, 0, RETIRED_NOT, look_at_random)                \
  X(RSA_generate_multi_prime_key, 0, RETIRED_NOT, look_at_random)       \
  X(RSA_X931_generate_key_ex, 0, RETIRED_NOT, look_at_random)           \
  X(DSA_generate_key, 0, RETIRED_NOT, look_at_random)                   \
  X(DSA_generate_parameters, 0, RETIRED_NOT, look_at_random)            \
  X(DSA_generate_parameters_ex, 0, RETIRED_NOT, look_at_random)         \
  X(DH_generate_key, 0, RETIRED_NOT, look_at_random)                    \
  X(DH_generate_parameters, 0, RETIRED_NOT, look_at_random)             \
  X(DH_generate_parameters_ex, 0, RETIRED_NOT, look_at_random)          \
  X(EC_KEY_generate_key, 0, RETIRED_NOT, look_at_random)                \
  X(OCSP_request_add1_nonce, 0, RETIRED_NOT, look_at_random)            \
  X(OCSP_basic_add1_nonce, 0, RETIRED_NOT, look_at_random)              \
  X(gnutls_rnd, 0, RETIRED_NOT, look_at_random)                         \
  X(gnutls_key_generate, 0, RETIRED_NOT, look_at_random)                \
  X(gnutls_session_ticket_key_generate, 0, RETIRED_NOT, look_at_random) \
  X(gnutls_privkey_generate, 0, RETIRED_NOT, look_at_random)            \
  X(gnutls_privkey_generate2, 0, RETIRED_NOT, look_at_random)           \
  X(gnutls_x509_privkey_generate, 0, RETIRED_NOT, look_at_random)       \
  X(gnutls_x509_privkey_generate2, 0, RETIRED_NOT, look_at_random)      \
  X(gnutls_dh_params_generate2, 0, RETIRED_NOT, look_at_random)         \
  X(gnutls_ocsp_req_randomize_nonce, 0, RETIRED_NOT, look_at_random)    \
  X(gcry_randomize, 0, RETIRED_NOT, look_at_random)                     \
  X(gcry_random_bytes, 0, RETIRED_NOT, look_at_random)                  \
  X(gcry_random_bytes_secure, 0, RETIRED_NOT, look_at_random)           \
  X(gcry_create_nonce, 0, RETIRED_NOT, look_at_random)                  \
  X(gcry_mpi_randomize, 0, RETIRED_NOT, look_at_random)                 \
  X(gcry_prime_generate, 0, RETIRED_NOT, look_at_random)                \
  X(gcry_pk_genkey, 0, RETIRED_NOT, look_at_random)                     \
  X(PK11_GenerateRandom, 0, RETIRED_NOT, look_at_random)                \
  X(PK11_GenerateRandomOnSlot, 0, RETIRED_NOT, look_at_random)          \
  X(PK11_KeyGen, 0, RETIRED_NOT, look_at_random)                        \
  X(PK11_KeyGenWithTemplate, 0, RETIRED_NOT, look_at_random)            \
  X(PK11_TokenKeyGen, 0, RETIRED_NOT, look_at_random)                   \
  X(PK11_TokenKeyGenWithFlags, 0, RETIRED_NOT, look_at_random)          \
  X(PK11_GenerateKeyPair, 0, RETIRED_NOT, look_at_random)               \
  X(PK11_GenerateKeyPairWithFlags, 0, RETIRED_NOT, look_at_random)      \
  X(PK11_GenerateKeyPairWithOpFlags, 0, RETIRED_NOT, look_at_random)    \
  X(PK11_GenerateNewParam, 0, RETIRED_NOT, look_at_random)              \
  X(PK11_PQG_ParamGen, 0, RETIRED_NOT, look_at_random)                  \
  X(PK11_PQG_ParamGenSeedLen, 0, RETIRED_NOT, look_at_random)           \
  X(PK11_PQG_ParamGenV2, 0, RETIRED_NOT, look_at_random)                \
  X(SECKEY_CreateDHPrivateKey, 0, RETIRED_NOT, look_at_random)          \
  X(SECKEY_CreateECPrivateKey, 0, RETIRED_NOT, look_at_random)          \
  X(RNG_GenerateGlobalRandomBytes, 0, RETIRED_NOT, look_at_random)      \
  X(X509_gmtime_adj, 0, RETIRED_NOT, look_at_time)                      \
  X(X509_time_adj, 0, RETIRED_NOT, look_at_time)                        \
  X(X509_time_adj_ex, 0, RETIRED_NOT, look_at_time)                     \
  X(X509_cmp_current_time, 0, RETIRED_NOT, look_at_time)

/* generators.c: a program asks the loader for a function, with a handle, and would be given this
 * one. Returns ours if it is one of these and the load is watched, else what was found. */
void *generators_instead(const char *name, void *found, const void *caller);
/* The same where ours was found: NULL if there is no other, and a program that looks for it has to
 * do without. */
void *generators_offer(const char *name, void *ours, const void *caller);
/* Whether it is one of these. */
int generators_have(const char *name);
/* Or one that is watched for another reason (load_calls.h). */
int load_calls_have(const char *name);

/* A language's own function, in whose place this library has one: the loader's next. A program may
 * have loaded the language for itself alone; then its caller's library leads to it. */
void *next_for_caller(const char *name, void *caller);

#endif
