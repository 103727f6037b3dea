import Foundation
import XCTest

/// Comments, messages and documents use the field's terms: see "How this project writes" in CONTRIBUTING.md.
final class ProseTests: XCTestCase {
  /// Words and phrases that the project does not use, and what it writes instead. A phrase matches whole words, without regard to case.
  private static let glossary: [(phrase: String, instead: String)] = [
    ("floors", "layers"),
    ("is told", "receives, is notified"), ("are told", "receive, are notified"), ("was told", "received, was notified"),
    ("told of", "notified of"),
    ("tells", "reports, notifies, shows"), ("hears", "observes, receives"), ("heard", "observed, received"),
    ("whoever", "the caller, any process"), ("somebody", "another process, the caller"), ("somebody's", "another process's"),
    ("nobody", "no process, no observer"), ("nobody's", "no process's"), ("anybody", "any process"),
    ("he", "the caller"), ("his", "its"),
    ("at hand", "in memory, loaded, cached"), ("anew", "again"), ("beside", "next to, in addition to"), ("of no use", "useless, invalid"),
    ("goes by", "uses, follows"), ("go by", "use, follow"), ("let go", "release"), ("lets go", "releases"), ("letting go", "releasing"),
    ("handed down", "passed"), ("handed out", "returned, vended"), ("handed over", "passed"), ("hands out", "returns, vends"),
    ("hands over", "passes"),
    ("lends", "vends"), ("lent", "borrowed"), ("called off", "canceled"), ("calls off", "cancels"), ("in step", "up to date, consistent"),
    ("portion", "batch, chunk"), ("portions", "batches, chunks"), ("inquiry", "query"),
    ("mend", "fix"), ("mends", "fixes"), ("mended", "fixed"), ("in the clear", "in plaintext"), ("woken", "notified, resumed"),
    ("worth its time", "pays off"), ("parted by", "separated by"), ("without a word", "silently"), ("wish", "request"),
    ("wishes", "requests"),
  ]

  /// Where a phrase is right, and why.
  private static let exceptions: [(file: String, phrase: String, reason: String)] = [
    ("CONTRIBUTING.md", "", "lists the glossary"),
    ("Documentation/Architecture.md", "in step", "numbers the steps of a save"),
    ("Documentation/Performance.md", "at hand", "is the name of a workload"),
    ("Documentation/Performance.md", "let go", "is the name of a workload"),
    ("Documentation/Performance.md", "portions", "is the name of a workload"),
    ("Sources/CipherDataToolKit/Demo/DebianArchive.swift", "beside", "is Debian's text"),
  ]

  private static let pattern: NSRegularExpression? = {
    let phrases = glossary.map { NSRegularExpression.escapedPattern(for: $0.phrase).replacingOccurrences(of: " ", with: "\\s+") }
    return try? NSRegularExpression(pattern: "(?<![\\w`'])(" + phrases.joined(separator: "|") + ")(?![\\w`(])", options: .caseInsensitive)
  }()

  func testCommentsAndMessagesUseTheTermsOfTheGlossary() throws {
    for (file, text) in Repository.sources { try check(text.prose.map(String.init), of: file) }
    for file in Repository.swiftFiles(in: "Plugins") { try check(SwiftText(Repository.text(file)).prose.map(String.init), of: file) }
  }

  func testDocumentsUseTheTermsOfTheGlossary() throws {
    let documents = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"]
    let folders = ["Documentation", "Sources", "Examples"].flatMap(Repository.files).filter { $0.hasSuffix(".md") }
    for file in documents + folders {
      try check(Repository.text(file).split(separator: "\n", omittingEmptySubsequences: false).map(String.init), of: file)
    }
  }

  func testAPhraseIsFoundInProseOnly() throws {
    let text = SwiftText("let anew = 1  // reads anew\nprint(\"\\(anew) is read anew\")\n")
    XCTAssertEqual(try Self.hits(in: text.prose.map(String.init)).map(\.line), [0, 1])
  }

  private func check(_ lines: [String], of file: String) throws {
    for (line, phrase) in try Self.hits(in: lines)
    where !Self.exceptions.contains(where: { file.hasPrefix($0.file) && ($0.phrase.isEmpty || $0.phrase == phrase) }) {
      let instead = Self.glossary.first { $0.phrase == phrase }?.instead ?? ""
      XCTFail("\(file):\(line + 1) says '\(phrase)'; write, for example, '\(instead)'")
    }
  }

  /// The phrases in lines, with the numbers of the lines from 0.
  private static func hits(in lines: [String]) throws -> [(line: Int, phrase: String)] {
    let pattern = try XCTUnwrap(pattern)
    return lines.enumerated().flatMap { index, line -> [(line: Int, phrase: String)] in
      if line.allSatisfy({ $0 == " " }) { return [] }
      // Text between backquotes is code.
      let prose = line.contains("`") ? line.replacingOccurrences(of: "`[^`]*`", with: "`", options: .regularExpression) : line
      return pattern.matches(in: prose, range: NSRange(prose.startIndex..., in: prose)).compactMap { match in
        Range(match.range, in: prose).map { (index, prose[$0].lowercased().split(whereSeparator: \.isWhitespace).joined(separator: " ")) }
      }
    }
  }
}
