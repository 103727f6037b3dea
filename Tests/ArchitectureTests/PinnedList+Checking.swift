import XCTest

extension PinnedList {
  /// Compares the list with the one in the repository, and reports each difference.
  func check(hint: String, line: UInt = #line) throws {
    let pinned = Repository.exists(path) ? try Repository.list(path) : []
    let (known, found) = (Set(pinned), Set(lines))
    let gone = pinned.filter { !found.contains($0) }.map { "- \($0)" }
    let new = lines.filter { !known.contains($0) }.map { "+ \($0)" }
    guard !gone.isEmpty || !new.isEmpty else { return }
    let shown = (gone + new).prefix(20).joined(separator: "\n")
    XCTFail("\(path) differs from the sources (\(gone.count) lines removed, \(new.count) new). \(hint)\n\(shown)", line: line)
  }
}
