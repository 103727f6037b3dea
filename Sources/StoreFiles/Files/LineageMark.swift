import Foundation
import StoreKeys

/// How far the content of a store is known elsewhere: a number that a store has in its database and in a small file next to it.
///
/// Nothing inside a database shows that another program has overwritten it with an earlier state of itself. Such a state has a smaller number
/// than the file. The file's name begins with a dot, so that a copy of all files whose names begin with the store's does not contain it.
package struct LineageMark: Sendable, Hashable {
  /// A text that no other store has, unless it is a copy.
  package let series: String
  /// The number of times that the mark has advanced.
  package let number: Int64

  package init(series: String, number: Int64) { (self.series, self.number) = (series, number) }

  /// Returns whether a state with this mark contains everything that was known elsewhere at another one.
  package func includes(_ other: LineageMark) -> Bool { series == other.series && number >= other.number }

  // MARK: The file

  /// The size in bytes up to which a file is read. A longer text is not a mark.
  private static let maximumSize = 96
  /// A limit that leaves the next numbers valid.
  private static let maximumNumber: Int64 = 1 << 62

  /// Reads the file next to a database, or returns `nil` if it is missing or is not readable.
  package init?(nextTo databasePath: String) {
    let flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK
    let descriptor = Descriptors.open(StoreFile.lineageMarkPath(for: databasePath), flags)
    guard descriptor >= 0 else { return nil }
    defer { _ = close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: Self.maximumSize)
    let count = bytes.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, $0.count, 0) }
    guard count > 0, let end = bytes.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
    let words = String(decoding: bytes[..<end], as: UTF8.self).split(separator: " ")
    guard words.count == 2, let number = Int64(words[1]), (0..<Self.maximumNumber).contains(number) else { return nil }
    self.init(series: String(words[0]), number: number)
  }

  /// Writes the file next to a database, and makes it durable. The state of the database that has this mark must be committed.
  ///
  /// - Returns: Whether the file has this mark. It is not an error if the folder or the file cannot be written: only the detection of earlier
  ///   states is missing then.
  @discardableResult
  package func write(nextTo databasePath: String) -> Bool {
    if LineageMark(nextTo: databasePath) == self { return true }
    let path = StoreFile.lineageMarkPath(for: databasePath)
    // All who may write to the store may write the file.
    let isNew = (try? StoreFile.createExclusively(path, for: FileOwner(of: databasePath)?.ofFile, replacing: false)) != nil
    let descriptor = Descriptors.open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    guard descriptor >= 0 else { return false }
    defer { _ = close(descriptor) }
    let bytes = Array("\(series) \(number)\n".utf8)
    // The file has less than a sector and is not emptied first: a crash leaves the former or the new mark.
    guard bytes.count <= Self.maximumSize, bytes.withUnsafeBytes({ pwrite(descriptor, $0.baseAddress, $0.count, 0) }) == bytes.count,
      fsync(descriptor) == 0
    else { return false }
    return !isNew || (try? StoreFile.syncFolder(of: path)) != nil
  }
}
