// A guestbook as a CGI program; README.md has the rules that all languages share.
package main

import (
	"database/sql"
	"fmt"
	"io"
	"net/http"
	"net/http/cgi"
	"os"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	_ "github.com/mattn/go-sqlite3"
)

const bodyMax = 16384

var (
	form    = regexp.MustCompile(`^application/x-www-form-urlencoded(?:[; ]|$)`)
	digits  = regexp.MustCompile(`^[0-9]{1,9}$`)
	control = regexp.MustCompile(`[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]`)
	escaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#39;")
)

// Fails if two requests create the database at once; then the other one has switched it.
const useWAL = "PRAGMA journal_mode = WAL"
const schema = `
PRAGMA synchronous = NORMAL;
CREATE TABLE IF NOT EXISTS entries (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL,
  message TEXT NOT NULL, created TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP);
CREATE INDEX IF NOT EXISTS entries_by_name ON entries (name);
CREATE INDEX IF NOT EXISTS entries_by_created ON entries (created);
CREATE INDEX IF NOT EXISTS entries_by_name_created ON entries (name, created);`

const pageStart = `<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>Guestbook</title></head>
<body>
<h1>Guestbook</h1>
<form method="post">
<p><input name="name" required maxlength="100" placeholder="Name"></p>
<p><textarea name="message" required maxlength="2000"></textarea></p>
<p><button>Sign</button></p>
</form>
<ol reversed>
`
const pageEnd = `</ol>
</body>
</html>
`

func refuse(w http.ResponseWriter, status int) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	fmt.Fprintf(w, "%d %s\n", status, http.StatusText(status))
}

func databaseFailed(w http.ResponseWriter, err error) {
	fmt.Fprintln(os.Stderr, "guestbook:", err)
	refuse(w, http.StatusInternalServerError)
}

func openDatabase() (*sql.DB, error) {
	path := os.Getenv("GUESTBOOK_DB")
	if path == "" {
		path = "/var/lib/guestbook/guestbook.db"
	}
	db, err := sql.Open("sqlite3", path)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1) // a PRAGMA applies to one connection
	if _, err = db.Exec("PRAGMA busy_timeout = 5000"); err != nil {
		return nil, err
	}
	_, _ = db.Exec(useWAL)
	_, err = db.Exec(schema)
	return db, err
}

func page(db *sql.DB) (string, error) {
	rows, err := db.Query("SELECT id, name, created, message FROM entries ORDER BY id DESC LIMIT 100")
	if err != nil {
		return "", err
	}
	defer rows.Close()
	var text strings.Builder
	text.WriteString(pageStart)
	for rows.Next() {
		var id int64
		var name, created, message string
		if err := rows.Scan(&id, &name, &created, &message); err != nil {
			return "", err
		}
		fmt.Fprintf(&text, "<li value=\"%d\"><b>%s</b> <time>%s</time><p>%s</p></li>\n", id,
			escaper.Replace(name), escaper.Replace(created), escaper.Replace(message))
	}
	text.WriteString(pageEnd)
	return text.String(), rows.Err()
}

func listEntries(w http.ResponseWriter, r *http.Request, db *sql.DB) {
	text, err := page(db)
	if err != nil {
		databaseFailed(w, err)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(http.StatusOK)
	if r.Method != http.MethodHead {
		_, _ = io.WriteString(w, text)
	}
}

// By hand, because url.QueryUnescape refuses a % that is not followed by two hex digits.
func decode(text string) string {
	text = strings.ReplaceAll(text, "+", " ")
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '%' && i+3 <= len(text) {
			if value, err := strconv.ParseUint(text[i+1:i+3], 16, 8); err == nil {
				out.WriteByte(byte(value))
				i += 2
				continue
			}
		}
		out.WriteByte(text[i])
	}
	return out.String()
}

func isField(value string, bytesMax int) bool {
	return value != "" && len(value) <= bytesMax && utf8.ValidString(value) &&
		!control.MatchString(value)
}

// The form's name and message; false if they are not valid.
func readForm(r *http.Request) (name, message string, ok bool) {
	if !form.MatchString(r.Header.Get("Content-Type")) || r.ContentLength > bodyMax ||
		!digits.MatchString(os.Getenv("CONTENT_LENGTH")) {
		return "", "", false
	}
	body, err := io.ReadAll(r.Body)
	if err != nil || int64(len(body)) != r.ContentLength {
		return "", "", false
	}
	values := map[string]string{}
	for _, pair := range strings.Split(strings.ReplaceAll(string(body), ";", "&"), "&") {
		key, value, _ := strings.Cut(pair, "=")
		if _, seen := values[decode(key)]; !seen {
			values[decode(key)] = decode(value)
		}
	}
	name, message = values["name"], values["message"]
	return name, message, isField(name, 100) && isField(message, 2000)
}

func addEntry(w http.ResponseWriter, r *http.Request, db *sql.DB) {
	name, message, ok := readForm(r)
	if !ok {
		refuse(w, http.StatusBadRequest)
		return
	}
	_, err := db.Exec("INSERT INTO entries (name, message) VALUES (?, ?)", name, message)
	if err != nil {
		databaseFailed(w, err)
		return
	}
	w.Header().Set("Location", os.Getenv("SCRIPT_NAME"))
	w.Header()["Content-Type"] = nil // there is no content, so its type must not be guessed
	w.WriteHeader(http.StatusSeeOther)
}

func guestbook(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead && r.Method != http.MethodPost {
		w.Header().Set("Allow", "GET, HEAD, POST")
		refuse(w, http.StatusMethodNotAllowed)
		return
	}
	db, err := openDatabase()
	if err != nil {
		databaseFailed(w, err)
		return
	}
	defer db.Close()
	if r.Method == http.MethodPost {
		addEntry(w, r, db)
	} else {
		listEntries(w, r, db)
	}
}

func main() {
	// net/http/cgi does not answer what it cannot read: a CONTENT_LENGTH that is not a number.
	if err := cgi.Serve(http.HandlerFunc(guestbook)); err != nil {
		fmt.Fprintln(os.Stderr, "guestbook:", err)
		fmt.Print("Status: 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n",
			"400 Bad Request\n")
	}
}
