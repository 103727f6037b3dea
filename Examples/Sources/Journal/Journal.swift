// A journal in a terminal. Several processes can have the same journal open.
import CipherData
import Foundation

@main
struct Journal {
  static func main() async {
    let arguments = CommandLine.arguments.dropFirst()
    guard let folder = arguments.first else {
      return end("usage: Journal FOLDER [COMMAND…] (the passphrase is in JOURNAL_PASSPHRASE)", EX_USAGE)
    }
    guard let passphrase = ProcessInfo.processInfo.environment["JOURNAL_PASSPHRASE"], !passphrase.isEmpty else {
      return end("Set JOURNAL_PASSPHRASE to the journal's passphrase.", EX_USAGE)
    }
    let seconds = ProcessInfo.processInfo.environment["JOURNAL_AUTOSAVE"].flatMap(Int.init) ?? 1
    let command = arguments.dropFirst().joined(separator: " ")
    do {
      let desk = try await Desk.open(URL(fileURLWithPath: folder), passphrase: passphrase, savingAfter: .seconds(max(seconds, 0)))
      let interruptions = Input.interruptions { Task { await desk.interrupt() } }
      // With a command, the process performs it and exits; without one, it reads commands.
      for await line in command.isEmpty ? Input.lines() : Input.one(command) where await !desk.perform(line) { break }
      try await desk.close()
      interruptions.cancel()
      let status = desk.status
      if !command.isEmpty, status != EXIT_SUCCESS { exit(status) }
    } catch let error as StoreError where error.code == .wrongKey {
      end("That is not the passphrase of this journal. Nothing was changed.", EX_NOPERM)
    } catch { end("\(error)", EXIT_FAILURE) }
  }

  private static func end(_ message: String, _ status: Int32) {
    FileHandle.standardError.write(Data("Journal: \(message)\n".utf8))
    exit(status)
  }
}

/// Input from the terminal.
enum Input {
  /// The lines that the user types. A separate thread reads them, so that the main actor can print the changes of other processes
  /// meanwhile. `readLine()` is unsuitable: it holds a lock of the C library while it waits, and glibc 2.41 waits for that lock when the
  /// process exits.
  static func lines() -> AsyncStream<String> {
    let (stream, continuation) = AsyncStream.makeStream(of: String.self)
    Thread.detachNewThread {
      var typed = Data()
      while case let bytes = FileHandle.standardInput.availableData, !bytes.isEmpty {
        typed += bytes
        while let end = typed.firstIndex(of: UInt8(ascii: "\n")) {
          continuation.yield(String(decoding: typed[..<end], as: UTF8.self))
          typed.removeSubrange(...end)
        }
      }
      if !typed.isEmpty { continuation.yield(String(decoding: typed, as: UTF8.self)) }
      continuation.finish()
    }
    return stream
  }

  /// A single line.
  static func one(_ line: String) -> AsyncStream<String> {
    AsyncStream { continuation in
      continuation.yield(line)
      continuation.finish()
    }
  }

  /// Calls a handler for each Ctrl-C instead of ending the process.
  static func interruptions(_ handler: @escaping @Sendable () -> Void) -> any DispatchSourceSignal {
    signal(SIGINT, SIG_IGN)
    let source = DispatchSource.makeSignalSource(signal: SIGINT)
    source.setEventHandler(handler: handler)
    source.resume()
    return source
  }
}

/// Prints a line without buffering, also to a pipe.
func say(_ text: String) { FileHandle.standardOutput.write(Data((text + "\n").utf8)) }
