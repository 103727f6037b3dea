import _TestSupport

/// Names and values that look like SQL, end a literal or a name early, or have a meaning in patterns. The lists are the same in every run.
public enum HostileStrings {
  /// Fragments that words consist of.
  private static let pieces = [
    "'", "\"", "`", "[", "]", ";", "--", "/*", "*/", "\\", "%", "_", "*", "?", "?1", ":name", "$1", "(", ")", ",", "=", "||", "<>", "#",
    "{", "}",
    "''", "\"\"", "';", "\";", "')", "\")", "';--", "\";--", "' OR 1=1", "\" OR 1=1 --", "'; DROP TABLE Thing; --",
    "\"; DROP TABLE Thing; --",
    "x'00'", "X'", "0x1F", "1e9", "-1", "NULL", "TRUE", "ROWID", "_rowid_", "oid", "main", "temp", "sqlite_master", "sqlite_sequence",
    "SELECT", "UNION SELECT 1", "FROM Thing", "WHERE", "INSERT INTO Thing VALUES (1)", "UPDATE Thing SET number = 0", "DELETE FROM Thing",
    "CREATE TABLE t (a)", "ALTER TABLE", "ATTACH DATABASE 'x' AS y KEY ''", "DETACH", "PRAGMA rekey = 'x'", "VACUUM", "BEGIN", "COMMIT",
    "ROLLBACK", "SAVEPOINT s", "RELEASE s", "EXPLAIN", "LIKE '%'", "GLOB '*'", "MATCH", "ESCAPE '\\'", "COLLATE NOCASE", "CASE WHEN", "END",
    "ORDER BY 1", "LIMIT 0", "HAVING", "DISTINCT", "randomblob(100000000)", "load_extension('x')", "zeroblob(9)", "cd_constant(x'', 0)",
    "%@", "%K", "%n%s%x", "$value", "SELF", "SUBQUERY(a, $x, $x == 1)", "ANY", "@count", "FUNCTION(a, 'b')", "CAST(a, 'Int')",
    "\u{202E}", "\u{200B}", "\u{FEFF}", "\u{A0}", "\u{2019}", "\u{FF07}", "\u{02BC}", "\u{37E}", "\u{DF}", "\u{130}", "e\u{301}",
    "\u{1F600}",
    "\u{65E5}\u{672C}", "\u{41F}", " ", "  ", "a", "Z", "7",
  ]

  /// Makes distinct words. Texts that are canonically equivalent count as equal.
  private static func make(_ count: Int, seed: UInt64, _ pieces: [String], _ isAllowed: (String) -> Bool) -> [String] {
    var random = SeededGenerator(seed: seed)
    var (words, known) = ([String](), Set<String>())
    func add(_ word: String) {
      if words.count < count, isAllowed(word), known.insert(word).inserted { words.append(word) }
    }
    for piece in pieces { add(piece) }
    while words.count < count {
      add((0..<Int.random(in: 2...5, using: &random)).map { _ in pieces[Int.random(in: 0..<pieces.count, using: &random)] }.joined())
    }
    return words
  }

  /// 500 valid model names, one of them long.
  public static let names: [String] = {
    let long = String(repeating: "\"; DROP TABLE Thing; -- ", count: 400)
    return [long]
      + make(499, seed: 500, pieces) { name in
        !name.contains("@") && !name.contains(".") && name.lowercased() != "self" && name.unicodeScalars.allSatisfy { $0.value != 0xFEFF }
      }
  }()

  /// 2,000 values, some with zero bytes and line ends, one of them long.
  public static let values: [String] = {
    let long = String(repeating: "'; DROP TABLE Thing; -- ", count: 4_000)
    return ["", long] + make(1_998, seed: 2_000, pieces + ["\u{0}", "\n", "\r\n", "\t", "\u{1A}", "\u{7F}"]) { !$0.isEmpty }
  }()
}
