import Foundation
package import CipherData

/// A passphrase or another secret from a file, the environment, or a prompt without echo, but never from an argument. The bytes read are
/// wiped.
package struct PassphraseSource: Sendable {
  /// The file given on the command line, if any.
  package var file: String?
  /// The environment variable.
  package var variable: String
  /// The text of the prompt.
  package var prompt: String
  /// Whether the prompt asks twice, as for a new passphrase.
  package var confirms: Bool
  /// What messages call the secret.
  var noun = "passphrase"
  /// The option that names the file.
  var option = "--passphrase-file"

  /// The maximum length of a passphrase in bytes.
  static let longest = 4096

  package init(file: String?, variable: String = "CIPHERDATA_PASSPHRASE", prompt: String = "Passphrase: ", confirms: Bool = false) {
    self.file = file
    self.variable = variable
    self.prompt = prompt
    self.confirms = confirms
  }

  /// Reads the passphrase from the file's first line, else from the variable, else from the terminal.
  ///
  /// - Throws: ``ToolError`` with ``ExitStatus/noKey`` if there is no passphrase, ``ExitStatus/noInput`` if the file cannot be read.
  package func read() throws -> SecretBytes {
    if let file { return try Self.normalized(try read(file: file)) }
    if let secret = Self.takeVariable(variable) {
      guard secret.count > 0 else { throw ToolError(.noKey, "The variable \(variable) is empty.") }
      return try Self.normalized(secret)
    }
    let typed = try ask(prompt)
    if confirms {
      let again = try ask("Once more: ")
      guard typed == again else { throw ToolError(.noKey, "The \(noun)s differ.") }
    }
    return try Self.normalized(typed)
  }

  /// Reads the first line of a file.
  private func read(file: String) throws -> SecretBytes {
    let descriptor = open(file, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else {
      throw ToolError(.noInput, "Cannot read the \(noun) file \(file): \(String(cString: strerror(errno))).")
    }
    defer { close(descriptor) }
    guard let secret = try readLine(descriptor, "file \(file)") else {
      throw ToolError(.noKey, "The \(noun) file \(file) is empty.")
    }
    return secret
  }

  /// Reads a variable, removes it from the environment, and wipes its bytes in the process's memory, where other programs could read them.
  /// Returns `nil` if the variable is not set.
  static func takeVariable(_ name: String) -> SecretBytes? {
    guard let pointer = getenv(name) else { return nil }
    let count = strlen(pointer)
    let secret = SecretBytes(count: count) { buffer in
      buffer.copyMemory(from: UnsafeRawBufferPointer(start: pointer, count: count))
    }
    wipe(UnsafeMutableRawBufferPointer(start: pointer, count: count))
    unsetenv(name)
    return secret
  }

  /// Prompts on the terminal, without echo.
  private func ask(_ text: String) throws -> SecretBytes {
    let descriptor = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)
    guard descriptor >= 0 else {
      throw ToolError(.noKey, "No \(noun): give \(option), set \(variable), or run on a terminal.")
    }
    defer { close(descriptor) }
    var settings = termios()
    guard tcgetattr(descriptor, &settings) == 0 else {
      throw ToolError(.noKey, "The terminal's echo cannot be switched off for the \(noun).")
    }
    let before = settings
    settings.c_lflag &= ~tcflag_t(ECHO)
    // Signals are blocked until the echo is on again, so that an interrupted prompt restores the terminal.
    var signals = sigset_t()
    var earlier = sigset_t()
    sigemptyset(&signals)
    for signal in [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP] { sigaddset(&signals, signal) }
    settings.c_lflag &= ~tcflag_t(ISIG)
    pthread_sigmask(SIG_BLOCK, &signals, &earlier)
    tcsetattr(descriptor, TCSAFLUSH, &settings)
    defer {
      var restored = before
      tcsetattr(descriptor, TCSAFLUSH, &restored)
      Self.write(descriptor, "\n")
      pthread_sigmask(SIG_SETMASK, &earlier, nil)
    }
    Self.write(descriptor, text)
    guard let secret = try readLine(descriptor, "input", isTerminal: true) else { throw ToolError(.noKey, "No \(noun) was given.") }
    return secret
  }

  private static func write(_ descriptor: Int32, _ text: String) {
    var text = text
    text.withUTF8 { _ = Foundation.write(descriptor, $0.baseAddress, $0.count) }
  }

  /// Reads up to a line terminator into memory that is wiped; `nil` if there is no input.
  ///
  /// - Parameter source: What errors call the source.
  private func readLine(_ descriptor: Int32, _ source: String, isTerminal: Bool = false) throws -> SecretBytes? {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.longest + 1, alignment: 16)
    defer {
      Self.wipe(buffer)
      buffer.deallocate()
    }
    var count = 0
    reading: while count < buffer.count {
      // On a terminal, read single bytes: an end of file can occur within the line.
      let wanted = isTerminal ? 1 : buffer.count - count
      let got = Foundation.read(descriptor, buffer.baseAddress.map { $0 + count }, wanted)
      if got < 0 {
        if errno == EINTR { continue }
        throw ToolError(.noInput, "Cannot read the \(noun) \(source): \(String(cString: strerror(errno))).")
      }
      if got == 0 { break }
      for offset in count..<(count + got) where buffer[offset] == 0x0A {
        count = offset
        break reading
      }
      if isTerminal, buffer[count] == 0x03 { throw ToolError(.interrupted, "Interrupted.") }
      count += got
    }
    guard count <= Self.longest else { throw ToolError(.noKey, "A \(noun) has at most \(Self.longest) bytes.") }
    if count > 0, buffer[count - 1] == 0x0D { count -= 1 }
    guard count > 0 else { return nil }
    return SecretBytes(count: count) { $0.copyMemory(from: UnsafeRawBufferPointer(rebasing: buffer[0..<count])) }
  }

  /// Returns the passphrase in Unicode's composed form (NFC), so that it does not depend on the keyboard or file.
  private static func normalized(_ secret: SecretBytes) throws -> SecretBytes {
    let isASCII = secret.withUnsafeBytes { bytes in bytes.allSatisfy { $0 < 0x80 } }
    if isASCII { return secret }
    // Normalization requires a `String`, whose memory cannot be wiped. Only passphrases with non-ASCII characters have that cost.
    let text = secret.withUnsafeBytes { String(validating: $0, as: UTF8.self) }
    return text.map { SecretBytes(utf8: $0) } ?? secret
  }

  private static func wipe(_ buffer: UnsafeMutableRawBufferPointer) {
    if let base = buffer.baseAddress { explicit_bzero(base, buffer.count) }
  }
}
