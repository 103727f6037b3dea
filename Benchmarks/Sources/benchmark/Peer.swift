import Foundation

/// A peer: another library's program, which runs workloads in a child process. The protocol is a line with a workload's ID, and a line in
/// response.
@MainActor
final class Peer {
  private struct Answer: Decodable {
    let cpu: Double
    let wall: Double
    let heap: Double
    let checksum: String
  }

  /// A peer that does not respond, or responds incorrectly.
  struct Failure: Error {}

  private let process = Process()
  private let input = Pipe()
  private let output = Pipe()
  private var rest = Data()
  /// The workloads that it supports.
  private var workloads: Set<String> = []
  private var measured = Measured()

  /// Starts the peer. Its databases are in `folder`, W14b's in `diskFolder`.
  init(_ program: String, folder: String, diskFolder: String, divisor: UInt32) throws {
    process.executableURL = URL(fileURLWithPath: program)
    process.arguments = [folder, diskFolder, String(divisor)]
    process.standardInput = input
    process.standardOutput = output
    try process.run()
    workloads = try JSONDecoder().decode(Set<String>.self, from: try line())
  }

  /// Ends the peer by closing its input.
  func end() {
    try? input.fileHandleForWriting.close()
    process.waitUntilExit()
  }

  /// Returns its side of a workload; nil if unsupported.
  func side(_ id: String) -> Side? {
    guard workloads.contains(id) else { return nil }
    var checksum: UInt64 = 0
    return Side(
      prepare: {},
      run: {
        try self.input.fileHandleForWriting.write(contentsOf: Data("\(id)\n".utf8))
        let answer = try JSONDecoder().decode(Answer.self, from: try self.line())
        guard let sum = UInt64(answer.checksum, radix: 16) else { throw Failure() }
        checksum = sum
        self.measured = Measured(cpu: answer.cpu, wall: answer.wall, heap: answer.heap)
      }, finish: { checksum }, report: { self.measured })
  }

  private func line() throws -> Data {
    while true {
      if let end = rest.firstIndex(of: 0x0a) {
        defer { rest = Data(rest[(end + 1)...]) }
        return rest[..<end]
      }
      let more = output.fileHandleForReading.availableData
      guard !more.isEmpty else { throw Failure() }
      rest += more
    }
  }
}
