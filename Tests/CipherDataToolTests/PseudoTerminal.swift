import Foundation
import XCTest

/// The tool on a pseudo-terminal, with simulated keyboard input.
final class PseudoTerminal {
  private let master: Int32
  private let process = Process()
  private var seen = ""
  private var isOpen = true

  /// Runs the tool in a fixture's folder with the store's passphrase.
  init(_ fixture: ToolFixture, _ arguments: [String]) throws {
    var ends: (Int32, Int32) = (-1, -1)
    var size = winsize(ws_row: 24, ws_col: 100, ws_xpixel: 0, ws_ypixel: 0)
    guard openpty(&ends.0, &ends.1, nil, nil, &size) == 0 else { throw CocoaError(.fileReadUnknown) }
    let slave: Int32
    (master, slave) = ends
    let terminal = FileHandle(fileDescriptor: slave, closeOnDealloc: true)
    process.executableURL = try ToolFixture.executable
    process.currentDirectoryURL = fixture.folder.url
    process.arguments = arguments + ["--passphrase-file", "passphrase"]
    process.environment = ToolFixture.keptEnvironment
      .merging(["TERM": "xterm", "LC_ALL": "C.UTF-8", "HOME": fixture.folder.url.path], uniquingKeysWith: { _, new in new })
    process.standardInput = terminal
    process.standardOutput = terminal
    process.standardError = terminal
    try process.run()
    try terminal.close()
  }

  deinit {
    if process.isRunning { process.terminate() }
    close(master)
  }

  /// Sends keystrokes.
  func type(_ keys: String) {
    var keys = keys
    keys.withUTF8 { _ = write(master, $0.baseAddress, $0.count) }
  }

  /// Waits until the terminal shows a text after the position of the last call.
  func wait(for text: String) throws {
    while !seen.contains(text) { try read(awaiting: text) }
    if let range = seen.range(of: text) { seen.removeSubrange(..<range.upperBound) }
  }

  /// Waits for the process to end, and returns its exit status.
  func end() throws -> Int32 {
    while isOpen { try read(awaiting: "the end") }
    process.waitUntilExit()
    return process.terminationStatus
  }

  private func read(awaiting text: String) throws {
    var poller = pollfd(fd: master, events: Int16(POLLIN), revents: 0)
    guard isOpen, poll(&poller, 1, 30_000) > 0 else {
      process.terminate()
      throw Silence(awaited: text, seen: seen)
    }
    var bytes = [UInt8](repeating: 0, count: 4096)
    let count = Foundation.read(master, &bytes, bytes.count)
    // An error means that the process has closed its end.
    if count > 0 { seen += String(decoding: bytes[..<count], as: UTF8.self) } else { isOpen = false }
  }

  /// The expected text did not appear.
  private struct Silence: Error, CustomStringConvertible {
    let awaited: String
    let seen: String
    var description: String { "“\(awaited)” does not come after \(seen.debugDescription)" }
  }
}
