// Journal: a journal in a terminal. Several of them may have the same journal open.
import CipherData
import Foundation

@main
struct Journal {
  static func main() async {
    guard CommandLine.arguments.count == 2 else { return end("usage: Journal FOLDER (the passphrase is in JOURNAL_PASSPHRASE)", 64) }
    guard let passphrase = ProcessInfo.processInfo.environment["JOURNAL_PASSPHRASE"], !passphrase.isEmpty else {
      return end("Set JOURNAL_PASSPHRASE to the journal's passphrase.", 64)
    }
    let seconds = ProcessInfo.processInfo.environment["JOURNAL_AUTOSAVE"].flatMap(Int.init) ?? 1
    do {
      let desk = try await Desk.open(
        URL(fileURLWithPath: CommandLine.arguments[1]), passphrase: passphrase, savingAfter: .seconds(max(seconds, 0)))
      for await line in Input.lines() where await !desk.perform(line) { break }
      try desk.close()
    } catch { end("\(error)", 1) }
  }

  private static func end(_ message: String, _ status: Int32) {
    FileHandle.standardError.write(Data("Journal: \(message)\n".utf8))
    exit(status)
  }
}

/// The lines that somebody types.
enum Input {
  /// They are read on a thread of their own, so that the main actor can tell meanwhile what others write.
  static func lines() -> AsyncStream<String> {
    let (stream, continuation) = AsyncStream.makeStream(of: String.self)
    Thread.detachNewThread {
      while let line = readLine() { continuation.yield(line) }
      continuation.finish()
    }
    return stream
  }
}

/// Says something at once, also to who reads by a pipe.
func say(_ text: String) { FileHandle.standardOutput.write(Data((text + "\n").utf8)) }
