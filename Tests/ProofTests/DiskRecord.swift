import Foundation
import _FaultInjection

/// The calls that changed files and names in a folder, in order. Paths are relative to the folder.
struct DiskRecord: Sendable {
  enum Action: Sendable {
    case open(handle: UInt32, path: String, makes: Bool, empties: Bool)
    /// A range of the record's bytes.
    case write(handle: UInt32, offset: Int, bytes: Range<Int>)
    case resize(handle: UInt32, size: Int)
    case sync(handle: UInt32)
    case rename(String, String)
    case link(String, String)
    /// Removes a file or an empty folder.
    case remove(String)
    case makeFolder(String)
    /// A marker of the test.
    case note(Int)
  }

  let bytes: [UInt8]
  let actions: [Action]

  /// Parses a record that the C library wrote.
  init(bytes: [UInt8]) {
    self.bytes = bytes
    var actions: [Action] = []
    var position = 0
    let headerSize = MemoryLayout<fault_record>.size
    while position + headerSize <= bytes.count {
      let header = bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: position, as: fault_record.self) }
      let first = position + headerSize..<position + headerSize + Int(header.first)
      let second = first.upperBound..<first.upperBound + Int(header.second)
      position = second.upperBound
      guard position <= bytes.count else { break }
      func text(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }
      switch fault_record_kind(header.kind) {
      case fault_record_open:
        let flags = Int32(truncatingIfNeeded: header.offset)
        actions.append(
          .open(handle: header.handle, path: text(first), makes: flags & O_CREAT != 0, empties: flags & O_TRUNC != 0))
      case fault_record_write: actions.append(.write(handle: header.handle, offset: Int(header.offset), bytes: first))
      case fault_record_size: actions.append(.resize(handle: header.handle, size: Int(header.offset)))
      case fault_record_sync: actions.append(.sync(handle: header.handle))
      case fault_record_rename: actions.append(.rename(text(first), text(second)))
      case fault_record_link: actions.append(.link(text(first), text(second)))
      case fault_record_unlink, fault_record_rmdir: actions.append(.remove(text(first)))
      case fault_record_mkdir: actions.append(.makeFolder(text(first)))
      default: actions.append(.note(Int(header.offset)))
      }
    }
    self.actions = actions
  }
}
