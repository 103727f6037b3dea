package import Foundation
import Synchronization

/// A part of an object that a save writes as a whole. The later one of two writes wins.
package enum SyncRegister: String, Codable, Hashable, Sendable {
  /// The number of the save, as a number and as a text.
  case value
  /// The number of the save, and the object that contains the object from then on.
  case place
}

/// What a save writes to a register of an object.
package struct SyncWrite: Codable, Sendable {
  /// The key of the object.
  package var object: String
  package var register: SyncRegister
  /// The number of the save that had written the replaced value; nil for a new object.
  package var replaced: Int64?
  /// The key of the object that contains it, for its place.
  package var container: String?

  package init(object: String, register: SyncRegister, replaced: Int64?, container: String? = nil) {
    (self.object, self.register, self.replaced, self.container) = (object, register, replaced, container)
  }
}

/// A save.
package struct SyncSave: Codable, Sendable {
  /// The number that it writes to registers, which no other save has.
  package var number: Int64
  /// The keys of new objects, by whose prefix their entities are known.
  package var inserted: [String] = []
  package var writes: [SyncWrite] = []
  /// The keys of deleted objects, including those that are deleted with them.
  package var deleted: [String] = []

  package init(number: Int64) { self.number = number }

  /// Returns the key of a new object. Keys of an entity are ordered as their numbers.
  package static func key(of entity: String, _ number: Int64) -> String {
    let digits = "\(number)"
    return "\(entity.prefix(1))" + String(repeating: "0", count: max(0, 12 - digits.count)) + digits
  }

  package var isEmpty: Bool { inserted.isEmpty && writes.isEmpty && deleted.isEmpty }
}

/// A line of a process's log. Times are nanoseconds of the system's clock, which all processes share.
package enum SyncLine: Codable, Sendable {
  /// The store is open for the first time.
  case opened
  case begun(SyncSave)
  /// The save has returned.
  ///
  /// - isWhole: Whether all of its writes were made, not only some: another process may have deleted objects.
  case done(at: UInt64, isWhole: Bool)
  /// The save failed because of another process, and changed nothing.
  case refused(String)
  /// The hub has all saves before this line.
  case sent(at: UInt64)
  /// A backup with a name is complete. It contains all saves that had returned when it was begun.
  case backedUp(String, begunAt: UInt64)
  /// An unexpected error.
  case failed(String)
}

/// The log of a process. The process is killed, not the system: a line that is written remains.
package final class SyncLogFile: Sendable {
  private let process: Int
  private struct State {
    var descriptor: Int32
    var lastNumber: Int64 = 0
    var hasUnsentSaves = false
  }
  private let state: Mutex<State>

  package init(_ order: SyncOrder) {
    process = order.process
    state = Mutex(State(descriptor: open(order.world.log(process).path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)))
  }

  package static var now: UInt64 { DispatchTime.now().uptimeNanoseconds }

  package func write(_ line: SyncLine) { state.withLock { Self.write(line, to: $0.descriptor) } }

  private static func write(_ line: SyncLine, to descriptor: Int32) {
    guard var bytes = try? JSONEncoder().encode(line) else { return }
    bytes.append(0x0A)
    _ = bytes.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
  }

  /// Returns a number that no other save and no other object has.
  package func newNumber() -> Int64 {
    state.withLock { state in
      state.lastNumber += 1
      return Int64(process) * 1_000_000 + state.lastNumber
    }
  }

  /// Performs a save between the lines that record it.
  ///
  /// - Parameters:
  ///   - isRefusal: Whether an error means that the save changed nothing because of another process.
  ///   - body: Saves, and returns whether all writes were made.
  package func perform(_ save: SyncSave, isRefusal: (any Error) -> String?, _ body: () throws -> Bool) throws {
    write(.begun(save))
    do {
      let isWhole = try body()
      state.withLock { state in
        Self.write(.done(at: Self.now, isWhole: isWhole), to: state.descriptor)
        state.hasUnsentSaves = true
      }
    } catch {
      guard let reason = isRefusal(error) else { throw error }
      write(.refused(reason))
    }
  }

  package var hasUnsentSaves: Bool { state.withLock { $0.hasUnsentSaves } }

  /// Records that the hub has all saves of the log.
  package func writeSent() {
    state.withLock { state in
      guard state.hasUnsentSaves else { return }
      Self.write(.sent(at: Self.now), to: state.descriptor)
      state.hasUnsentSaves = false
    }
  }

  /// Reads the lines of a process. The last one may be incomplete.
  package static func lines(at url: URL) throws -> [SyncLine] {
    guard FileManager.default.fileExists(atPath: url.path) else { return [] }
    let parts = try Data(contentsOf: url).split(separator: 0x0A, omittingEmptySubsequences: false).dropLast()
    return try parts.map { try JSONDecoder().decode(SyncLine.self, from: $0) }
  }
}
