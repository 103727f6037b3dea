import Foundation
package import StoreKeys

/// Reads the pages of a rollback journal, which are what they were before its transaction.
///
/// The layout is the one of SQLite's "Database File Format", section 3: parts, each of a head that fills a sector and of pages with their numbers and sums.
package enum RollbackJournal {
  private static let magic: [UInt8] = [0xD9, 0xD5, 0x05, 0xF9, 0x20, 0xA1, 0x63, 0xD7]
  private static let headSize = 28
  private static let sectorSizes = 32...65_536

  /// Whether the page 1 that SQLite would take back was written with the key. Each page of the database stands in it once.
  package static func holdsAuthenticFirstPage(_ path: String, authenticator: PageAuthenticator) throws(StoreAccessError) -> Bool {
    guard let file = try LogFile(opening: path) else { return false }
    let pageSize = authenticator.format.pageSize
    let recordSize = pageSize + 8
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: recordSize, alignment: 16)
    defer { buffer.deallocate() }
    var offset = 0
    while try file.read(headSize, at: offset, into: buffer) == headSize {
      // A head of zeros is that of a part which was never synced: SQLite takes nothing back from there on.
      guard buffer[..<magic.count].elementsEqual(magic), Int(buffer.bigEndian(at: 24)) == pageSize else { return false }
      let (count, sectorSize) = (buffer.bigEndian(at: 8), Int(buffer.bigEndian(at: 20)))
      guard sectorSizes.contains(sectorSize), sectorSize & (sectorSize - 1) == 0 else { return false }
      offset += sectorSize
      // A part whose pages are not counted goes on to the file's end.
      var rest = count == 0 ? UInt32.max : count
      while rest > 0 {
        guard try file.read(recordSize, at: offset, into: buffer) == recordSize else { return false }
        if buffer.bigEndian(at: 0) == 1 {
          return try authenticator.isAuthentic(UnsafeMutableRawBufferPointer(rebasing: buffer[4..<4 + pageSize]), number: 1)
        }
        offset += recordSize
        rest -= 1
      }
      offset = (offset + sectorSize - 1) / sectorSize * sectorSize
    }
    return false
  }
}
