import Foundation
import StoreKeys
import Synchronization

/// File-system events from inotify, through one descriptor. Other systems are not supported yet.
final class FileEvents: Sendable {
  /// The events to observe for a file or folder.
  enum Interest {
    /// Changes of a file's times or names.
    case touches
    /// Writes to a file.
    case writing
    /// Only the removal of the file. The watch remains.
    case nothing
    /// Files that are added to a folder or removed from it.
    case entries
  }

  struct Event {
    enum Kind { case touched, written, entry, ended, overflow }
    let kind: Kind
    /// The number of the watch.
    let watch: Int32
    /// The name of the file that was added to a folder or removed from it.
    let name: String
  }

  /// An error that tests make the system calls return.
  enum SimulatedError: Sendable { case instance(Int32), watch(Int32) }
  static let simulatedError = Mutex<SimulatedError?>(nil)

  let descriptor: Int32

  deinit { _ = close(descriptor) }

  #if os(Linux)
    /// - Throws: `.notWatchable` if the process or the user has reached a limit.
    init(path: String) throws(StoreAccessError) {
      var number: Int32?
      if case .instance(let error) = Self.simulatedError.withLock({ $0 }) { number = error }
      descriptor = number == nil ? inotify_init1(O_NONBLOCK | O_CLOEXEC) : -1
      guard descriptor >= 0 else { throw Self.failure(number ?? errno, path: path, isInstance: true) }
    }

    /// Watches a file or folder, or changes the events of an existing watch.
    ///
    /// - Returns: The watch's number, the same for a file that is already watched.
    func watch(_ path: String, for interest: Interest) throws(StoreAccessError) -> Int32 {
      if case .watch(let error) = Self.simulatedError.withLock({ $0 }) { throw Self.failure(error, path: path) }
      let mask =
        switch interest {
        case .touches: IN_ATTRIB | IN_DONT_FOLLOW
        case .writing: IN_MODIFY | IN_DONT_FOLLOW
        case .nothing: IN_DELETE_SELF | IN_DONT_FOLLOW
        case .entries: IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ONLYDIR
        }
      let number = inotify_add_watch(descriptor, path, UInt32(mask))
      guard number >= 0 else { throw Self.failure(errno, path: path) }
      return number
    }

    /// Ends a watch. It is not an error if it has already ended.
    func unwatch(_ number: Int32) { inotify_rm_watch(descriptor, number) }

    /// Triggers an event that resumes a thread waiting for one: the end of a watch is an event.
    ///
    /// - Parameter path: A file that is not watched.
    func interruptWait(by path: String) {
      if let number = try? watch(path, for: .nothing) { unwatch(number) }
    }

    /// Calls `body` with each event since the last call.
    func forEach(_ body: (Event) -> Void) {
      withUnsafeTemporaryAllocation(byteCount: 16_384, alignment: 16) { buffer in
        while true {
          let size = read(descriptor, buffer.baseAddress, buffer.count)
          guard size > 0 else {
            if size < 0, errno == EINTR { continue }
            return
          }
          var offset = 0
          while offset + Self.headerSize <= size {
            // The kernel returns complete events only, each with the size of its name.
            let watch = buffer.loadUnaligned(fromByteOffset: offset, as: Int32.self)
            let mask = buffer.loadUnaligned(fromByteOffset: offset + 4, as: UInt32.self)
            let length = Int(buffer.loadUnaligned(fromByteOffset: offset + 12, as: UInt32.self))
            let name = buffer[offset + Self.headerSize..<min(offset + Self.headerSize + length, size)].prefix { $0 != 0 }
            offset += Self.headerSize + length
            if let kind = Self.kind(mask) { body(Event(kind: kind, watch: watch, name: String(decoding: name, as: UTF8.self))) }
          }
        }
      }
    }

    private static let headerSize = 16

    private static func kind(_ mask: UInt32) -> Event.Kind? {
      func has(_ bits: Int32) -> Bool { mask & UInt32(bits) != 0 }
      if has(IN_Q_OVERFLOW) { return .overflow }
      if has(IN_IGNORED) { return .ended }
      if has(IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO) { return .entry }
      if has(IN_MODIFY) { return .written }
      return has(IN_ATTRIB) ? .touched : nil
    }

    private static func failure(_ number: Int32, path: String, isInstance: Bool = false) -> StoreAccessError {
      switch number {
      case EMFILE, ENFILE: StoreAccessError(.notWatchable(.descriptorLimit), path: path, operation: .watch)
      case ENOSPC: StoreAccessError(.notWatchable(.watchLimit), path: path, operation: .watch)
      case ENOSYS where isInstance, EPERM where isInstance:
        StoreAccessError(.notWatchable(.unsupportedSystem), path: path, operation: .watch)
      default: .system(number, path: path, operation: .watch)
      }
    }
  #else
    init(path: String) throws(StoreAccessError) {
      throw StoreAccessError(.notWatchable(.unsupportedSystem), path: path, operation: .watch)
    }
    func watch(_ path: String, for interest: Interest) throws(StoreAccessError) -> Int32 {
      throw StoreAccessError(.notWatchable(.unsupportedSystem), path: path, operation: .watch)
    }
    func unwatch(_ number: Int32) {}
    func interruptWait(by path: String) {}
    func forEach(_ body: (Event) -> Void) {}
  #endif
}
