// An ES module's imports are loaded before its first own statement. Node tells nobody when: so a call is
// inserted there, at the end of the line of the first import, where no error can happen any more, so that no
// message shows that line.
'use strict';
const { readFileSync, realpathSync } = require('fs');

const kBlank = String.raw`(?:\s+|//[^\n]*\n|/\*[^]*?\*/|(['"])use strict\1;?)`;
const kImport = String.raw`import\s*(?:[\w$*{},\s]+?from\s*)?(['"])[^'"\n]+\2\s*(?:(?:with|assert)\s*\{[^}]*\}\s*)?`;
const kBegin = new RegExp(`^(?:#![^\\n]*\\n)?${kBlank}*${kImport};?[ \\t]*(?=\\r?\\n|//)`);
const kBytesMax = 1024 * 1024;

// [where, in bytes, the file's own path]; undefined: the program does not begin with an import, or it is for
// Node to say what is wrong with it.
function endOfFirst(script) {
  try {
    const path = realpathSync(script);
    const text = readFileSync(path, 'utf8');
    const begin = text.length > kBytesMax ? null : kBegin.exec(text);
    return begin ? [Buffer.byteLength(begin[0]), path] : undefined;
  } catch {
    return undefined;
  }
}

delete require.cache[__filename];
module.exports = { endOfFirst };
