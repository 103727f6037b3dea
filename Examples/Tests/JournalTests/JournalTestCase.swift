import Foundation
import XCTest

/// A test with processes that have a journal open, and simulated input. It contains the common setups.
class JournalTestCase: XCTestCase {
  /// A process that has the journal open.
  final class Writer {
    static let passphrase = "between the lines"

    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()
    private var unread = ""

    /// - Parameters:
    ///   - seconds: The time from a change to the automatic save.
    ///   - command: A command to perform instead of reading input.
    init(_ folder: URL, passphrase: String = Writer.passphrase, savingAfter seconds: Int = 1, doing command: [String] = []) throws {
      // A line that never arrives is awaited until the process ends.
      process.executableURL = URL(fileURLWithPath: "/usr/bin/timeout")
      let program = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent().appendingPathComponent("Journal")
      // With `--foreground`, a signal reaches only the program, and only once.
      process.arguments = ["--foreground", "60", program.path, folder.path] + command
      process.environment = ProcessInfo.processInfo.environment.merging([
        "JOURNAL_PASSPHRASE": passphrase, "JOURNAL_AUTOSAVE": "\(seconds)",
      ]) { _, new in new }
      (process.standardInput, process.standardOutput, process.standardError) = (input, output, output)
      try process.run()
    }

    func type(_ line: String) { input.fileHandleForWriting.write(Data((line + "\n").utf8)) }

    /// Waits until the process has printed a line, and continues after it. The end of the process ends the waiting too.
    func wait(for line: String, file: StaticString = #filePath, at number: UInt = #line) {
      while true {
        if let found = unread.range(of: line + "\n") {
          unread.removeSubrange(unread.startIndex..<found.upperBound)
          return
        }
        let bytes = output.fileHandleForReading.availableData
        if bytes.isEmpty { return XCTFail("“\(line)” was not said. What was said last: \(unread)", file: file, line: number) }
        unread += String(decoding: bytes, as: UTF8.self)
      }
    }

    /// Sends Ctrl-C.
    func interrupt() { process.interrupt() }

    func quit() -> Int32 {
      type("quit")
      return end()
    }

    /// Waits for the process to end, and returns its exit status.
    func end() -> Int32 {
      _ = output.fileHandleForReading.readDataToEndOfFile()
      process.waitUntilExit()
      return process.terminationStatus
    }
  }

  func folder() -> URL {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("Journal-\(UUID().uuidString)")
    addTeardownBlock { try? FileManager.default.removeItem(at: folder) }
    return folder
  }

  /// A process with a new journal, which has saved one entry.
  func writer(in folder: URL, adding entry: (notebook: String, title: String), savingAfter seconds: Int = 1) throws -> Writer {
    let writer = try Writer(folder, savingAfter: seconds)
    writer.wait(for: "0 entries. Type help for what there is to do.")
    writer.type("add \(entry.notebook): \(entry.title)")
    writer.wait(for: "+ 0.0  \(entry.title)")
    writer.type("save")
    return writer
  }

  /// A process that opens a journal with some entries.
  func reader(of folder: URL, finding count: Int) throws -> Writer {
    let reader = try Writer(folder)
    reader.wait(for: "\(count) entries. Type help for what there is to do.")
    return reader
  }
}
