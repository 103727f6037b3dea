// A peer: another library's program, which does workloads in a process of its own when it is told to.
import Foundation

/// Talks to a peer: a workload's ID in a line, an answer in a line.
@MainActor
final class Peer {
  private struct Answer: Decodable {
    let cpu: Double
    let wall: Double
    let heap: Double
    let checksum: String
  }

  /// A peer that answers no more, or something else than it should.
  struct Failure: Error {}

  private let process = Process()
  private let input = Pipe()
  private let output = Pipe()
  private var rest = Data()
  /// The workloads that it has.
  private var workloads: Set<String> = []
  private var measured = Measured()

  /// Starts the peer; its databases go into the folder, W14b's into the other.
  init(_ program: String, folder: String, diskFolder: String, divisor: UInt32) throws {
    process.executableURL = URL(fileURLWithPath: program)
    process.arguments = [folder, diskFolder, String(divisor)]
    process.standardInput = input
    process.standardOutput = output
    try process.run()
    workloads = try JSONDecoder().decode(Set<String>.self, from: try line())
  }

  /// It ends when its input does.
  func end() {
    try? input.fileHandleForWriting.close()
    process.waitUntilExit()
  }

  /// Its side of a workload; nil where it has none.
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
