import Dispatch
import Foundation
import XCTest

@testable import SQLCipherConnection
@testable import StoreFiles
@testable import StoreKeys

/// Starts this test program again as a child process, which plays the part that its environment names.
struct ChildProcess {
  private let process = Process()
  private let pipe = Pipe()

  /// - Parameter wrapper: The absolute path of a program that starts the process, for example with other privileges, and its arguments.
  init(_ role: String, _ arguments: [String] = [], environment: [String: String] = [:], through wrapper: [String] = []) throws {
    let test = "SQLCipherConnectionTests.ChildProcessTests/testRunChildRole"
    let command = wrapper + [try XCTUnwrap(CommandLine.arguments.first), test]
    process.executableURL = URL(fileURLWithPath: command[0])
    process.arguments = Array(command.dropFirst())
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }.merging(
      ["CIPHERDATA_TEST_ROLE": role, "CIPHERDATA_TEST_ARGUMENTS": arguments.joined(separator: "\n")]) { $1 }
    process.standardOutput = pipe
    process.standardError = pipe
    try process.run()
  }

  /// Waits for the process to end, and returns its output and exit code.
  func finish() -> (output: String, status: Int32) {
    let data = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return (String(decoding: data, as: UTF8.self), process.terminationReason == .exit ? process.terminationStatus : -1)
  }

  /// Kills the process `microseconds` after its acknowledgment number `count`, and returns the last acknowledged number.
  func kill(after count: Int, microseconds: UInt32) -> Int {
    var output = Data()
    var acknowledged = 0
    while acknowledged < count {
      let data = pipe.fileHandleForReading.availableData
      if data.isEmpty { break }
      output += data
      acknowledged = output.split(separator: 10).filter { $0.starts(with: Data("ACK ".utf8)) }.count
    }
    usleep(microseconds)
    Foundation.kill(process.processIdentifier, SIGKILL)
    output += pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    // Only terminated lines count.
    let lines = String(decoding: output, as: UTF8.self).components(separatedBy: "\n").dropLast()
    return lines.compactMap { $0.hasPrefix("ACK ") ? Int($0.dropFirst(4)) : nil }.last ?? 0
  }

  /// Returns the lines that the part printed with `answer`.
  static func answers(in output: String) -> [String] {
    output.split(separator: "\n").filter { $0.hasPrefix("ANSWER ") }.map { String($0.dropFirst(7)) }
  }
}

final class ChildProcessTests: XCTestCase {
  func testRunChildRole() async throws {
    let environment = ProcessInfo.processInfo.environment
    guard let role = environment["CIPHERDATA_TEST_ROLE"] else { return }
    let arguments = (environment["CIPHERDATA_TEST_ARGUMENTS"] ?? "").components(separatedBy: "\n")
    switch role {
    case "write": try write(arguments[0], count: Int(arguments[1]) ?? 0)
    case "read": try read(arguments[0])
    case "with a plain SQLite in the process": try besidePlainSQLite(arguments[0], isDeep: arguments[1] == "deep")
    case "open": answer(kind { try Connection(opening: arguments[0], key: testKey()).close() })
    case "unprivileged": try unprivileged(arguments)
    case "add a slot unprivileged": await addSlotUnprivileged(arguments[0])
    case "fill a disk": try await DiskFullTests.fillADisk(at: arguments[0])
    case "compact on a small disk": try await DiskFullTests.compactOnASmallDisk(at: arguments[0])
    case "save until killed": try saveUntilKilled(arguments[0])
    case "rotate until killed": try await rotateUntilKilled(arguments[0])
    case "replace until killed": try await replaceUntilKilled(arguments[0], by: Array(arguments.dropFirst()))
    case "save among others": try await saveAmongOthers(arguments[0], count: Int(arguments[1]) ?? 0, name: arguments[2])
    case "rotate among others": try await rotateAmongOthers(arguments[0], count: Int(arguments[1]) ?? 0)
    case "replace among others": try await replaceAmongOthers(arguments[0], by: arguments[1], count: Int(arguments[2]) ?? 0)
    case "derive in little memory": answer(kind { try deriveInLittleMemory() })
    case "check in no memory": for text in try checkInNoMemory() { answer(text) }
    case "create until killed": try await createUntilKilled(arguments[0])
    case "talkative": try await talkative(arguments[0])
    default: XCTFail("no such part")
    }
  }

  private func answer(_ text: String) { print("ANSWER \(text)") }

  func kind(_ body: () throws -> Void) -> String {
    do {
      try body()
      return "ok"
    } catch let error as StoreAccessError {
      return "\(error.kind)"
    } catch {
      return "\(error)"
    }
  }

  private func write(_ path: String, count: Int) throws {
    var options = ConnectionOptions()
    options.durability = .fast
    let connection = try Connection(opening: path, key: testKey(), options: options)
    let insert = try connection.statement(0, "INSERT INTO t (a) VALUES (?)")
    for number in 0..<count {
      try connection.writeTransaction {
        try insert.bind(1, number)
        try insert.run()
      }
    }
    answer("\(count)")
  }

  private func read(_ path: String) throws {
    let connection = try Connection(opening: path, key: testKey())
    var last: Int64 = 0
    for _ in 0..<100 {
      let count = try connection.readTransaction { try connection.firstInteger("SELECT count(*) FROM t") } ?? -1
      XCTAssertGreaterThanOrEqual(count, last)
      last = count
    }
    answer("read")
  }

  /// Drops root privileges, since permissions do not restrict root. Returns true if the process is unprivileged.
  private func dropPrivileges() -> Bool { getuid() != 0 || (setgid(65534) == 0 && setuid(65534) == 0) }

  /// Opens and creates the files that the arguments name, as an unprivileged user.
  private func unprivileged(_ arguments: [String]) throws {
    guard dropPrivileges() else { return answer("cannot drop privileges") }
    for argument in arguments {
      let path = String(argument.dropFirst(2))
      if argument.hasPrefix("o:") { answer(kind { try Connection(opening: path, key: testKey()).close() }) }
      if argument.hasPrefix("c:") { answer(kind { try Connection.create(path: path, key: testKey()).close() }) }
      if argument.hasPrefix("r:") {
        var options = ConnectionOptions()
        options.isReadOnly = true
        answer(
          kind {
            let connection = try Connection(opening: path, key: testKey(), options: options)
            XCTAssertEqual(try connection.firstInteger("SELECT count(*) FROM t"), 3)
          })
      }
      if argument.hasPrefix("R:") {
        answer(
          kind {
            let connection = try Connection.reading(path, key: testKey())
            XCTAssertEqual(try connection.firstInteger("SELECT count(*) FROM t"), 3)
          })
      }
      if argument.hasPrefix("v:") {
        var options = ConnectionOptions()
        options.isReadOnly = true
        answer("\(try StoreVerification.run(path: path, key: testKey(), level: .full, options: options))")
      }
      if argument.hasPrefix("w:") { answer(kind { try readWhileItIsWritten(path) }) }
    }
  }

  /// Reads a file without locks, and changes it between two reads.
  private func readWhileItIsWritten(_ path: String) throws {
    let connection = try Connection.reading(path, key: testKey())
    try connection.readTransaction { XCTAssertEqual(try connection.firstInteger("SELECT count(*) FROM t"), 3) }
    let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
    try file.seekToEnd()
    try file.write(contentsOf: Data(count: 4096))
    try file.close()
    try connection.readTransaction { _ = try connection.firstInteger("SELECT count(*) FROM t") }
  }

  private func addSlotUnprivileged(_ path: String) async {
    guard dropPrivileges() else { return answer("cannot drop privileges") }
    do {
      _ = try await StoreKeyring.unlock(storePath: path, key: cheap("one")).addSlot(cheap("two"))
      answer("ok")
    } catch {
      answer((error as? StoreAccessError).map { "\($0.kind)" } ?? "\(error)")
    }
  }

  private func acknowledge(_ number: Int) {
    let line = Array("ACK \(number)\n".utf8)
    _ = Foundation.write(1, line, line.count)
  }

  private func saveUntilKilled(_ path: String) throws {
    let connection = try Connection(opening: path, key: testKey())
    let insert = try connection.statement(0, "INSERT INTO t (a) VALUES (?)")
    for number in 1... {
      // Insert two rows at a time: a partial save would show as an odd number.
      try connection.writeTransaction {
        for _ in 0..<2 {
          try insert.bind(1, number)
          try insert.run()
        }
      }
      acknowledge(number)
    }
  }

  private func rotateUntilKilled(_ path: String) async throws {
    let keyring = try await StoreKeyring.unlock(storePath: path, key: cheap("one"))
    let pool = try ConnectionPool(path: path, key: keyring.databaseKey())
    for number in 1... {
      try await keyring.rotateDataKey(pool: pool)
      acknowledge(number)
    }
  }

  private func replaceUntilKilled(_ path: String, by sources: [String]) async throws {
    let keyring = [
      try await StoreKeyring.unlock(storePath: sources[0], key: cheap("0")),
      try await StoreKeyring.unlock(storePath: sources[1], key: cheap("1")),
    ]
    for number in 1... {
      try await StoreReplacement.replace(path) { staged in
        let support = StoreFile.supportPath(for: staged)
        try FileManager.default.createDirectory(atPath: support, withIntermediateDirectories: false)
        try Data("\(number % 2)".utf8).write(to: URL(fileURLWithPath: support + "/mark"))
        try await keyring[number % 2].backUp(to: staged)
      }
      acknowledge(number)
    }
  }

  private func createUntilKilled(_ folder: String) async throws {
    for number in 1... {
      _ = try await StoreKeyring.create(storePath: "\(folder)/\(number).store", key: cheap("one"))
      acknowledge(number)
    }
  }

  /// Performs everything that might print: wrong keys, damage, misuse. Describes every error.
  private func talkative(_ folder: String) async throws {
    let path = folder + "/loud.store"
    let secret = SecretBytes(utf8: "MARKER-PASSPHRASE")
    let key = StoreKey.passphrase(secret, .cheapForTests())
    let keyring = try await StoreKeyring.create(storePath: path, key: key)
    var errors: [any Error] = []
    func note(_ body: () async throws -> Void) async {
      do { try await body() } catch { errors.append(error) }
    }
    let databaseKey = try keyring.databaseKey()
    let connection = try Connection(opening: path, key: databaseKey)
    try connection.execute("CREATE TABLE t (a UNIQUE)")
    let insert = try connection.statement(sql: "INSERT INTO t VALUES (?)")
    for _ in 0..<2 {
      await note {
        try insert.bind(1, "MARKER-VALUE")
        try insert.run()
      }
    }
    connection.close()
    await note { _ = try await StoreKeyring.unlock(storePath: path, key: .passphrase(SecretBytes(utf8: "MARKER-WRONG"), .cheapForTests())) }
    for key in [StoreKey.databaseKey(SecretBytes([UInt8](repeating: 0x4d, count: 32))), .sqlcipherPassphrase("MARKER-OTHER")] {
      await note { _ = try Connection(opening: path, key: try await StoreKeyring.unlock(storePath: path, key: key).databaseKey()) }
    }
    await note { _ = try Connection(opening: path, key: testKey()) }
    await note { _ = try RecoveryKey.parse("MARKER-RECOVERY") }
    var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
    bytes[4096 + 100] ^= 1
    try bytes.write(to: URL(fileURLWithPath: path))
    await note { _ = try Connection(opening: path, key: databaseKey).firstText("SELECT a FROM t") }
    for error in errors { print(error, String(reflecting: error), error.localizedDescription) }
    dump(errors)
    print(key, secret, databaseKey, keyring)
    dump(key)
    dump(databaseKey)
    dump(keyring)
    let hex = databaseKey.key.withUnsafeBytes { $0.map { String(format: "%02x", $0) }.joined() }
    try Data(hex.utf8).write(to: URL(fileURLWithPath: folder + "/hex"))
    answer("\(errors.count)")
  }
}
