import Foundation
package import StoreKeys

/// Computes the size of tables and indexes by walking their trees without SQLite, whose common builds cannot report it.
package enum PageUsage {
  /// Returns the sizes in bytes of trees by root page, in the newest committed state. Every page that is read must be authentic.
  ///
  /// - Throws: `.storeCorrupt` if the pages do not form trees; `.busy` if others keep committing in the meantime.
  package static func bytes(of roots: [UInt32], _ connection: Connection, key: DatabaseKey) throws -> [UInt32: Int] {
    let (path, pageSize) = (connection.path, key.format.pageSize)
    for _ in 0..<5 {
      let version = try connection.dataVersion()
      let result: Result<[UInt32: Int], any Error> = Result {
        let reader = try FreePages.PageReader(path: path, key: key)
        var walk = TreeWalk(reader: reader, usableSize: pageSize - key.format.reservedBytes)
        var bytes: [UInt32: Int] = [:]
        for root in roots { bytes[root] = try walk.pages(from: root) * pageSize }
        return bytes
      }
      // Pages that others wrote in the meantime may have been read partially.
      if try connection.dataVersion() == version { return try result.get() }
    }
    throw StoreAccessError(.busy, path: path, operation: .read, circumstance: .committedMeanwhile)
  }
}

private struct TreeWalk {
  let reader: FreePages.PageReader
  let usableSize: Int
  private var seen: Set<UInt32> = []

  init(reader: FreePages.PageReader, usableSize: Int) {
    self.reader = reader
    self.usableSize = usableSize
  }

  /// Returns the number of pages of a tree, including overflow pages.
  mutating func pages(from root: UInt32) throws -> Int {
    var count = 0
    var rest = [root]
    while let number = rest.popLast() {
      // Trees share no pages.
      guard seen.insert(number).inserted else { throw reader.damaged }
      count += 1
      let page = try reader.page(number)
      let header = number == 1 ? 100 : 0
      guard page.count >= header + 12 else { throw reader.damaged }
      let kind = page[header]
      guard [2, 5, 10, 13].contains(kind) else { throw reader.damaged }
      let isInner = kind < 10
      if isInner { rest.append(Self.number(page, header + 8)) }
      let cellCount = Self.short(page, header + 3)
      for cell in 0..<cellCount {
        let entry = header + (isInner ? 12 : 8) + 2 * cell
        guard entry + 2 <= page.count else { throw reader.damaged }
        let place = Self.short(page, entry)
        guard place + 9 <= page.count else { throw reader.damaged }
        if isInner { rest.append(Self.number(page, place)) }
        if kind != 5 { count += overflowPages(Self.varint(page, place + (isInner ? 4 : 0)), isTable: kind == 13) }
      }
    }
    return count
  }

  /// Returns the number of overflow pages of an entry, according to SQLite's file format.
  private func overflowPages(_ size: Int, isTable: Bool) -> Int {
    let least = (usableSize - 12) * 32 / 255 - 23
    let maximum = isTable ? usableSize - 35 : (usableSize - 12) * 64 / 255 - 23
    guard size > maximum else { return 0 }
    let fitting = least + (size - least) % (usableSize - 4)
    let local = fitting <= maximum ? fitting : least
    return (size - local + usableSize - 5) / (usableSize - 4)
  }

  private static func short(_ page: [UInt8], _ offset: Int) -> Int { Int(page[offset]) << 8 | Int(page[offset + 1]) }

  private static func number(_ page: [UInt8], _ offset: Int) -> UInt32 {
    page[offset..<offset + 4].reduce(0) { $0 << 8 | UInt32($1) }
  }

  private static func varint(_ page: [UInt8], _ offset: Int) -> Int {
    var value: UInt64 = 0
    for index in 0..<9 where offset + index < page.count {
      let byte = page[offset + index]
      if index == 8 {
        value = value << 8 | UInt64(byte)
        break
      }
      value = value << 7 | UInt64(byte & 0x7f)
      if byte < 0x80 { break }
    }
    return Int(clamping: value)
  }
}
