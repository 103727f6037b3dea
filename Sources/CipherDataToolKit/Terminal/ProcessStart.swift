// ProcessStart: what a process may have been started with that no command expects.
import Foundation

extension Tool {
  /// Gives the three standard descriptors a file where they are closed: whatever is opened next would take their numbers, and be written to as if it were
  /// the terminal. What is read or written there then fails, as it would have.
  package static func keepStandardDescriptors() {
    for descriptor in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] where fcntl(descriptor, F_GETFD) < 0 && errno == EBADF {
      // The lowest number that is free, which is this one: those before are open.
      _ = open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
    }
  }

  /// Refuses arguments that are no text. Another file than the one that was meant would be made or read.
  ///
  /// - Returns: The status to end with; nil where all are text.
  package static func statusWithoutText() -> Int32? {
    for number in 0..<Int(CommandLine.argc) {
      guard let argument = CommandLine.unsafeArgv[number] else { continue }
      if String(validatingCString: argument) == nil {
        print(
          "cipherdata: Argument \(number) is no UTF-8: \(TableWriter.printable(String(cString: argument))). Files of such a name cannot be named; rename them.",
          to: STDERR_FILENO)
        return ExitStatus.usage.rawValue
      }
    }
    return nil
  }
}
