import Foundation
package import StoreKeys

/// Reads the pages of a rollback journal, which contain the state before its transaction.
///
/// The layout is described in SQLite's "Database File Format", section 3: segments, each with a header that fills a sector, followed by
/// pages with their numbers and checksums.
package enum RollbackJournal {
  private static let magic: [UInt8] = [0xD9, 0xD5, 0x05, 0xF9, 0x20, 0xA1, 0x63, 0xD7]
  private static let headSize = 28
  private static let sectorSizes = 32...65_536

  /// Returns whether the page 1 that SQLite would restore was written with the key. The journal contains each page of the database once.
  package static func hasAuthenticFirstPage(_ path: String, authenticator: PageAuthenticator) throws(StoreAccessError) -> Bool {
    guard let file = try LogFile(opening: path) else { return false }
    let pageSize = authenticator.format.pageSize
    let recordSize = pageSize + 8
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: recordSize, alignment: 16)
    defer { buffer.deallocate() }
    var offset = 0
    while try file.read(headSize, at: offset, into: buffer) == headSize {
      // A header of zeros belongs to a segment that was never synced. SQLite restores nothing from there on.
      guard buffer[..<magic.count].elementsEqual(magic), Int(buffer.bigEndian(at: 24)) == pageSize else { return false }
      let (count, sectorSize) = (buffer.bigEndian(at: 8), Int(buffer.bigEndian(at: 20)))
      guard sectorSizes.contains(sectorSize), sectorSize & (sectorSize - 1) == 0 else { return false }
      offset += sectorSize
      // A segment without a page count extends to the end of the file.
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
