import Foundation
import SQLCipherConnection
import StoreKeys
import XCTest
import _TestSupport

/// Copies of keys that remain in the memory of a program after it opens and closes a store, visible to anyone who can read that memory.
final class KeyMemoryTests: XCTestCase {
  /// A secret to search for. A match of any 16 consecutive bytes counts as a copy.
  private struct Needle {
    var name: String
    var bytes: [UInt8]
    /// Whether the secret must not remain. For values, nothing is guaranteed.
    var isKey = true

    /// The parts, none of which may be found.
    var parts: [[UInt8]] { stride(from: 0, to: bytes.count - 15, by: 16).map { Array(bytes[$0..<$0 + 16]) } }
  }

  /// The child process, stopped at points where its memory is searched.
  private final class Holder {
    private let process = Process()
    private let (input, output) = (Pipe(), Pipe())

    init(_ arguments: [String]) throws {
      let folder = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }?.bundleURL.deletingLastPathComponent()
      process.executableURL = (folder ?? URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent())
        .appendingPathComponent("_KeyHolder")
      process.arguments = arguments
      (process.standardInput, process.standardOutput) = (input, output)
      try process.run()
    }

    /// Waits until the process reports a state.
    func wait(for state: String) throws {
      var line: [UInt8] = []
      while let byte = try output.fileHandleForReading.read(upToCount: 1)?.first, byte != 0x0A { line.append(byte) }
      XCTAssertEqual(String(decoding: line, as: UTF8.self), state)
    }

    func goOn() throws { try input.fileHandleForWriting.write(contentsOf: Data("\n".utf8)) }

    func finish() throws {
      try goOn()
      process.waitUntilExit()
      XCTAssertEqual(process.terminationStatus, 0)
    }

    /// Ends the process with a core dump, and returns the file.
    func core(in folder: URL) throws -> URL {
      let pattern = try String(contentsOfFile: "/proc/sys/kernel/core_pattern", encoding: .utf8)
      if pattern.hasPrefix("|") || pattern.hasPrefix("/") {
        // If the system intercepts core dumps, gdb makes one.
        let gdb = Process()
        gdb.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        gdb.arguments = ["gcore", "-o", folder.appendingPathComponent("core").path, "\(process.processIdentifier)"]
        gdb.standardOutput = FileHandle.nullDevice
        try gdb.run()
        gdb.waitUntilExit()
        XCTAssertEqual(gdb.terminationStatus, 0, "gcore is needed (Debian's gdb), as core_pattern is \(pattern)")
        process.terminate()
      } else {
        try goOn()
      }
      process.waitUntilExit()
      XCTAssertEqual(process.terminationReason, .uncaughtSignal)
      let name = try FileManager.default.contentsOfDirectory(atPath: folder.path).first { $0.hasPrefix("core") }
      return folder.appendingPathComponent(try XCTUnwrap(name, "no core in \(folder.path)"))
    }

    /// The number of copies of each needle, or of a part of it, in readable memory.
    func copies(of needles: [Needle]) throws -> [String: Int] {
      let folder = "/proc/\(process.processIdentifier)"
      let memory = open(folder + "/mem", O_RDONLY | O_CLOEXEC)
      guard memory >= 0 else { throw CocoaError(.fileReadNoPermission) }
      defer { close(memory) }
      var found: [String: Int] = [:]
      var searched = 0
      for line in try String(contentsOfFile: folder + "/maps", encoding: .utf8).split(separator: "\n") {
        let fields = line.split(separator: " ")
        let bounds = fields[0].split(separator: "-").compactMap { UInt64($0, radix: 16) }
        guard bounds.count == 2, fields[1].hasPrefix("r"), !line.contains("[v") else { continue }
        var bytes = [UInt8](repeating: 0, count: Int(bounds[1] - bounds[0]))
        let count = bytes.withUnsafeMutableBytes { pread(memory, $0.baseAddress, $0.count, off_t(bounds[0])) }
        guard count > 0 else { continue }
        searched += count
        for needle in needles {
          let copies = needle.parts.map { Self.occurrences(of: $0, in: bytes[..<count]) }.max() ?? 0
          found[needle.name, default: 0] += copies
        }
      }
      XCTAssertGreaterThan(searched, 1_000_000)
      return found
    }

    static func occurrences(of needle: [UInt8], in bytes: ArraySlice<UInt8>) -> Int {
      bytes.withUnsafeBytes { bytes in
        var (count, rest) = (0, bytes)
        while rest.count >= needle.count, let start = rest.baseAddress,
          let found = memchr(start, Int32(needle[0]), rest.count - needle.count + 1)
        {
          let isCopy = memcmp(found, needle, needle.count) == 0
          count += isCopy ? 1 : 0
          let next = start.distance(to: UnsafeRawPointer(found)) + (isCopy ? needle.count : 1)
          rest = UnsafeRawBufferPointer(rebasing: rest[next...])
        }
        return count
      }
    }
  }

  private func hex(_ bytes: [UInt8], uppercase: Bool = false) -> [UInt8] {
    Array(bytes.map { String(format: uppercase ? "%02X" : "%02x", $0) }.joined().utf8)
  }

  /// Counts copies of the keys of a store that is opened with the secret in a file.
  private func copies(openingWith secret: String, in folder: TemporaryFolder, store: URL, needles: [Needle]) throws -> (
    open: [String: Int], closed: [String: Int]
  ) {
    let file = folder.file("secret")
    try Data(secret.utf8).write(to: file)
    let holder = try Holder([store.path, file.path])
    try holder.wait(for: "open")
    let open = try holder.copies(of: needles)
    try holder.goOn()
    try holder.wait(for: "closed")
    let closed = try holder.copies(of: needles)
    try holder.finish()
    return (open, closed)
  }

  /// The start of a value that the program saved.
  private static let value = Array("\(1_000_000_000_000_000 + 100 * 7_919_000_077)".utf8)

  /// Makes a store with a passphrase and a recovery key, and returns the needles.
  private func makeStore(_ store: URL) async throws -> (passphrase: String, recovery: String, needles: [Needle]) {
    var random = SystemRandomNumberGenerator()
    let passphrase = (0..<48).map { _ in String(UnicodeScalar(UInt8.random(in: 0x61...0x7a, using: &random))) }.joined()
    let key = StoreKey.passphrase(SecretBytes(utf8: passphrase), .cheapForTests())
    let keyring = try await StoreKeyring.create(storePath: store.path, key: key)
    let recovery = try await keyring.addRecoveryKey().text
    let dataKey = try keyring.databaseKey().key.withUnsafeBytes(Array.init)
    let recoveryBytes = try RecoveryKey.parse(recovery).withUnsafeBytes(Array.init)
    let needles = [
      Needle(name: "passphrase", bytes: Array(passphrase.utf8)),
      Needle(name: "data key", bytes: dataKey),
      Needle(name: "data key, hexadecimal", bytes: hex(dataKey)),
      Needle(name: "data key, HEXADECIMAL", bytes: hex(dataKey, uppercase: true)),
      Needle(name: "recovery key", bytes: recoveryBytes),
      Needle(name: "recovery key, printed", bytes: Array(recovery.utf8)),
      Needle(name: "value", bytes: Self.value, isKey: false),
    ]
    return (passphrase, recovery, needles)
  }

  /// A core dump also contains the processor's registers.
  func testCoreDumpsContainNoKeysAfterTheStoreIsClosed() async throws {
    let folder = try TemporaryFolder("KeyMemoryTests")
    let store = folder.file("films.store")
    let (passphrase, _, needles) = try await makeStore(store)
    let file = folder.file("secret")
    try Data(passphrase.utf8).write(to: file)
    let place = folder.url.appendingPathComponent("core")
    try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
    let holder = try Holder([store.path, file.path, place.path])
    try holder.wait(for: "open")
    try holder.goOn()
    try holder.wait(for: "closed")
    let core = Array(try Data(contentsOf: holder.core(in: place)))
    XCTAssertGreaterThan(core.count, 1_000_000)
    // The search finds data that is in memory, such as the path argument.
    XCTAssertGreaterThan(Holder.occurrences(of: Array(store.path.utf8), in: core[...]), 0)
    for needle in needles where needle.isKey {
      XCTAssertEqual(needle.parts.map { Holder.occurrences(of: $0, in: core[...]) }.max(), 0, needle.name)
    }
  }

  func testMemoryContainsNoKeysAfterTheStoreIsClosed() async throws {
    let folder = try TemporaryFolder("KeyMemoryTests")
    let store = folder.file("films.store")
    let (passphrase, recovery, needles) = try await makeStore(store)
    for (name, secret) in [("passphrase", passphrase), ("recovery key", recovery)] {
      let (open, closed) = try copies(openingWith: secret, in: folder, store: store, needles: needles)
      for needle in needles where needle.isKey {
        XCTAssertEqual(closed[needle.name], 0, "\(needle.name), opened with the \(name); while it was open: \(open)")
      }
      // See the table in Documentation/Security.md. The search finds existing copies: SQLCipher needs the key of an open store.
      let copies = [open["data key", default: 0], open["data key, hexadecimal", default: 0]]
      XCTAssertGreaterThan(copies[0], 0)
      XCTAssertLessThanOrEqual(copies.max() ?? 0, 4, "\(open)")
      for needle in needles where needle.isKey && (!needle.name.hasPrefix("data key") || needle.name.hasSuffix("HEXADECIMAL")) {
        XCTAssertEqual(open[needle.name], 0, "\(needle.name), opened with the \(name)")
      }
      // The limit is that of Documentation/Security.md with a small margin: the allocator determines what is overwritten.
      XCTAssertGreaterThan(open["value", default: 0], 0)
      XCTAssertLessThanOrEqual(max(open["value", default: 0], closed["value", default: 0]), 6, "\(open) \(closed)")
    }
  }
}
