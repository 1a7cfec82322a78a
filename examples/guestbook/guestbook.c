// A guestbook as a CGI program. GET lists the newest 100 entries; POST of `name` and `message`
// (form-urlencoded) adds one and answers 303 to the program itself. README.md has the rules that
// the guestbooks in all languages share, down to the bytes of the page.
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { body_max = 16384, name_max = 100, message_max = 2000, busy_timeout_ms = 5000 };

// Fails if two requests create the database at once; then the other one has switched it.
static const char *const use_wal = "PRAGMA journal_mode = WAL";

static const char *const schema =
    "PRAGMA synchronous = NORMAL;"
    "CREATE TABLE IF NOT EXISTS entries (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL,"
    " message TEXT NOT NULL, created TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP);"
    "CREATE INDEX IF NOT EXISTS entries_by_name ON entries (name);"
    "CREATE INDEX IF NOT EXISTS entries_by_created ON entries (created);"
    "CREATE INDEX IF NOT EXISTS entries_by_name_created ON entries (name, created);";

static const char *variable(const char *name) {
  const char *value = getenv(name);
  return value ? value : "";
}

static int refuse(const char *status, const char *more_headers) {
  printf("Status: %s\r\n%sContent-Type: text/plain; charset=utf-8\r\n\r\n%s\n", status,
         more_headers, status);
  return 0;
}

static int database_failed(sqlite3 *db) {
  fprintf(stderr, "guestbook: %s\n", sqlite3_errmsg(db));
  return refuse("500 Internal Server Error", "");
}

static void put_escaped(FILE *out, const char *text) {
  for (; *text; text++) switch (*text) {
      case '&':
        fputs("&amp;", out);
        break;
      case '<':
        fputs("&lt;", out);
        break;
      case '>':
        fputs("&gt;", out);
        break;
      case '"':
        fputs("&quot;", out);
        break;
      case '\'':
        fputs("&#39;", out);
        break;
      default:
        putc(*text, out);
    }
}

static const char *column(sqlite3_stmt *row, int i) {
  const unsigned char *text = sqlite3_column_text(row, i);
  return text ? (const char *)text : "";
}

static int list_entries(sqlite3 *db) {
  sqlite3_stmt *row;
  if (sqlite3_prepare_v2(db,
                         "SELECT id, name, created, message FROM entries"
                         " ORDER BY id DESC LIMIT 100",
                         -1, &row, NULL) != SQLITE_OK)
    return database_failed(db);
  // The page is complete before its first byte is sent, so a failing database still gives a 500.
  char *page = NULL;
  size_t page_bytes = 0;
  FILE *out = open_memstream(&page, &page_bytes);
  if (!out) return refuse("500 Internal Server Error", "");
  fputs(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>Guestbook</title>"
      "</head>\n<body>\n<h1>Guestbook</h1>\n<form method=\"post\">\n"
      "<p><input name=\"name\" required maxlength=\"100\" placeholder=\"Name\"></p>\n"
      "<p><textarea name=\"message\" required maxlength=\"2000\"></textarea></p>\n"
      "<p><button>Sign</button></p>\n</form>\n<ol reversed>\n",
      out);
  int step;
  while ((step = sqlite3_step(row)) == SQLITE_ROW) {
    fprintf(out, "<li value=\"%lld\"><b>", (long long)sqlite3_column_int64(row, 0));
    put_escaped(out, column(row, 1));
    fputs("</b> <time>", out);
    put_escaped(out, column(row, 2));
    fputs("</time><p>", out);
    put_escaped(out, column(row, 3));
    fputs("</p></li>\n", out);
  }
  fputs("</ol>\n</body>\n</html>\n", out);
  fclose(out);
  sqlite3_finalize(row);
  if (step != SQLITE_DONE) return database_failed(db);
  printf("Content-Type: text/html; charset=utf-8\r\n\r\n");
  if (strcmp(variable("REQUEST_METHOD"), "HEAD") != 0) fwrite(page, 1, page_bytes, stdout);
  free(page);
  return 0;
}

static int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Decodes in place and returns the length; a % that is not followed by two hex digits stands for
// itself.
static size_t decode(char *text, size_t length) {
  size_t to = 0;
  for (size_t from = 0; from < length; from++, to++) {
    int high = -1, low = -1;
    if (text[from] == '%' && from + 2 < length) {
      high = hex_digit(text[from + 1]);
      low = hex_digit(text[from + 2]);
    }
    if (high >= 0 && low >= 0) {
      text[to] = (char)(high * 16 + low);
      from += 2;
    } else {
      text[to] = text[from] == '+' ? ' ' : text[from];
    }
  }
  return to;
}

// How many bytes the UTF-8 character at `at` has (Unicode 15, table 3-7), 0 if it is not one.
static size_t character_bytes(const unsigned char *at, size_t left) {
  unsigned char low = 0x80, high = 0xBF;
  size_t bytes;
  if (at[0] < 0x80) return 1;
  if (at[0] >= 0xC2 && at[0] <= 0xDF)
    bytes = 2;
  else if (at[0] >= 0xE0 && at[0] <= 0xEF)
    bytes = 3;
  else if (at[0] >= 0xF0 && at[0] <= 0xF4)
    bytes = 4;
  else
    return 0;
  if (at[0] == 0xE0) low = 0xA0;
  if (at[0] == 0xED) high = 0x9F;
  if (at[0] == 0xF0) low = 0x90;
  if (at[0] == 0xF4) high = 0x8F;
  if (left < bytes || at[1] < low || at[1] > high) return 0;
  for (size_t i = 2; i < bytes; i++)
    if (at[i] < 0x80 || at[i] > 0xBF) return 0;
  return bytes;
}

static int is_text(const char *text, size_t length) {
  const unsigned char *at = (const unsigned char *)text;
  for (size_t bytes; length; at += bytes, length -= bytes) {
    if (*at == 0x7F || (*at < 0x20 && !memchr("\t\n\r", *at, 3))) return 0;
    if (!(bytes = character_bytes(at, length))) return 0;
  }
  return 1;
}

struct field {
  const char *name;
  size_t bytes_max;
  char *value;  // borrowed from the body; NULL until the form has shown it
  size_t bytes;
};

// Fills in the fields from `body`, which it takes apart; if a name is given twice, the first one
// counts.
static int read_form(char *body, size_t bytes, struct field *fields, size_t count) {
  char *end = body + bytes;
  for (char *pair = body, *next; pair < end; pair = next) {
    char *pair_end = pair;
    while (pair_end < end && *pair_end != '&' && *pair_end != ';') pair_end++;
    next = pair_end + 1;
    char *equals = memchr(pair, '=', (size_t)(pair_end - pair));
    char *value = equals ? equals + 1 : pair_end;
    size_t key_bytes = decode(pair, (size_t)((equals ? equals : pair_end) - pair));
    for (struct field *f = fields; f < fields + count; f++)
      if (!f->value && key_bytes == strlen(f->name) && memcmp(pair, f->name, key_bytes) == 0) {
        f->value = value;
        f->bytes = decode(value, (size_t)(pair_end - value));
      }
  }
  for (struct field *f = fields; f < fields + count; f++)
    if (!f->value || f->bytes == 0 || f->bytes > f->bytes_max || !is_text(f->value, f->bytes))
      return 0;
  return 1;
}

static int add_entry(sqlite3 *db) {
  static char body[body_max + 1];
  struct field fields[] = {{"name", name_max, NULL, 0}, {"message", message_max, NULL, 0}};
  static const char form[] = "application/x-www-form-urlencoded";
  const char *type = variable("CONTENT_TYPE"), *length = variable("CONTENT_LENGTH");
  size_t digits = strspn(length, "0123456789");
  if (strncmp(type, form, sizeof form - 1) != 0 || !strchr("; ", type[sizeof form - 1]) ||
      digits == 0 || digits > 9 || length[digits])
    return refuse("400 Bad Request", "");
  size_t bytes = strtoul(length, NULL, 10);
  if (bytes > body_max || fread(body, 1, bytes, stdin) != bytes ||
      !read_form(body, bytes, fields, 2))
    return refuse("400 Bad Request", "");

  sqlite3_stmt *insert = NULL;
  if (sqlite3_prepare_v2(db, "INSERT INTO entries (name, message) VALUES (?, ?)", -1, &insert,
                         NULL) != SQLITE_OK)
    return database_failed(db);
  for (int i = 0; i < 2; i++)
    sqlite3_bind_text(insert, i + 1, fields[i].value, (int)fields[i].bytes, SQLITE_STATIC);
  int step = sqlite3_step(insert);
  sqlite3_finalize(insert);
  if (step != SQLITE_DONE) return database_failed(db);
  printf("Status: 303 See Other\r\nLocation: %s\r\n\r\n", variable("SCRIPT_NAME"));
  return 0;
}

int main(void) {
  const char *method = variable("REQUEST_METHOD"), *path = variable("GUESTBOOK_DB");
  int post = strcmp(method, "POST") == 0;
  if (!post && strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
    return refuse("405 Method Not Allowed", "Allow: GET, HEAD, POST\r\n");
  sqlite3 *db;
  if (sqlite3_open(*path ? path : "/var/lib/guestbook/guestbook.db", &db) != SQLITE_OK ||
      sqlite3_busy_timeout(db, busy_timeout_ms) != SQLITE_OK)
    return database_failed(db);
  sqlite3_exec(db, use_wal, NULL, NULL, NULL);
  if (sqlite3_exec(db, schema, NULL, NULL, NULL) != SQLITE_OK) return database_failed(db);
  int result = post ? add_entry(db) : list_entries(db);
  sqlite3_close(db);
  return result;
}
