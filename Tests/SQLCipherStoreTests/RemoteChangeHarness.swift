import Foundation
import ObjectModel
import ObjectStore
import Synchronization
import XCTest
import _StoreSpecification

@testable import SQLCipherStore

/// Records the remote changes that a coordinator publishes.
final class RemoteChangeRecorder: Sendable {
  private let changes = Mutex<[RemoteStoreChange]>([])
  private let task = Mutex<Task<Void, Never>?>(nil)

  init(_ coordinator: PersistentStoreCoordinator) {
    let stream = coordinator.remoteChanges()
    task.withLock {
      $0 = Task { [weak self] in
        for await change in stream { self?.changes.withLock { $0.append(change) } }
      }
    }
  }

  deinit { task.withLock { $0?.cancel() } }

  var received: [RemoteStoreChange] { changes.withLock { $0 } }
  var count: Int { received.count }
}

/// Waits up to ten seconds until a condition holds.
func waitUntil(_ text: String, file: StaticString = #filePath, line: UInt = #line, _ holds: () throws -> Bool) rethrows {
  let end = Date().addingTimeInterval(10)
  while try !holds() {
    guard Date() < end else { return XCTFail("Waited in vain: \(text)", file: file, line: line) }
    usleep(500)
  }
}

extension TestStore {
  /// The description with remote-change notifications enabled.
  var listeningDescription: PersistentStoreDescription {
    var description = description
    description.postsRemoteChangeNotifications = true
    return description
  }

  func openObserving() throws -> OpenStore { try OpenStore(listeningDescription, model: SpecificationModels.library) }
  var noticePath: String { url.path + "-changes" }
}

extension OpenStore {
  /// Returns the ID in this coordinator for an object of another one.
  func same(_ id: ManagedObjectID) -> ManagedObjectID {
    ManagedObjectID(space: scope.objectIDSpace.number, entityNumber: id.entityNumber, key: id.key)
  }
}

/// A child process of this test program that runs a part of ``RemoteChangeProcessTests``.
final class RemotePart {
  static let role = "CIPHERDATA_REMOTE_ROLE"
  let process = Process()
  private let pipe = Pipe()
  private var output = Data()

  /// - Parameter wrapper: The absolute path of a program that starts the process, for example with other privileges, and its arguments.
  init(_ role: String, _ arguments: [String], through wrapper: [String] = []) throws {
    let command =
      wrapper + [try XCTUnwrap(CommandLine.arguments.first), "SQLCipherStoreTests.RemoteChangeProcessTests/testProcessEntryPoint"]
    process.executableURL = URL(fileURLWithPath: command[0])
    process.arguments = Array(command.dropFirst())
    process.environment = ProcessInfo.processInfo.environment.merging(
      [Self.role: role, "CIPHERDATA_REMOTE_ARGUMENTS": arguments.joined(separator: "\n")]) { $1 }
    process.standardOutput = pipe
    process.standardError = FileHandle.nullDevice
    try process.run()
  }

  /// Sends a line to the parent process.
  static func say(_ text: String) {
    let line = Array("SAYS \(text)\n".utf8)
    _ = write(1, line, line.count)
  }

  /// The lines received so far.
  private var said: [String] {
    // Only terminated lines count.
    String(decoding: output, as: UTF8.self).components(separatedBy: "\n").dropLast().compactMap {
      $0.hasPrefix("SAYS ") ? String($0.dropFirst(5)) : nil
    }
  }

  /// Waits for a line, and returns all lines received by then.
  @discardableResult func wait(for text: String, seconds: Int = 20, file: StaticString = #filePath, line: UInt = #line) -> [String] {
    let end = Date().addingTimeInterval(TimeInterval(seconds))
    while !said.contains(text) {
      var waiting = pollfd(fd: pipe.fileHandleForReading.fileDescriptor, events: Int16(POLLIN), revents: 0)
      guard poll(&waiting, 1, 100) >= 0, Date() < end else {
        XCTFail("It never said \(text), but \(said)", file: file, line: line)
        break
      }
      guard waiting.revents != 0 else { continue }
      let data = pipe.fileHandleForReading.availableData
      if data.isEmpty {
        if !said.contains(text) { XCTFail("It ended, and never said \(text), but \(said)", file: file, line: line) }
        break
      }
      output += data
    }
    return said
  }

  /// Waits for the process to end, and returns all its lines.
  @discardableResult func finish(file: StaticString = #filePath, line: UInt = #line) -> [String] {
    output += pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    if process.terminationReason == .exit {
      XCTAssertEqual(process.terminationStatus, 0, String(decoding: output, as: UTF8.self), file: file, line: line)
    }
    return said
  }

  func signal(_ signal: Int32) { kill(process.processIdentifier, signal) }

  /// Kills the process in any state.
  func end() {
    signal(SIGCONT)
    signal(SIGKILL)
    process.waitUntilExit()
  }
}
