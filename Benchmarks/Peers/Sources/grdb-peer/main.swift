// The peer's process. For each line of input with a workload's ID, it runs the workload once and responds with a line of JSON.
import BenchmarkData
import Foundation

/// The measurements of one run.
struct Answer: Codable {
  var cpu = 0.0
  var wall = 0.0
  var heap = 0.0
  var checksum = ""
}

func run(_ work: Work) throws -> Answer {
  try work.prepare()
  let heap = bench_heap_bytes()
  let wall = bench_wall_seconds()
  let cpu = bench_cpu_seconds()
  try work.run()
  var answer = Answer(cpu: bench_cpu_seconds() - cpu, wall: bench_wall_seconds() - wall)
  answer.heap = Double(bench_heap_bytes()) - Double(heap)
  answer.checksum = String(try work.finish(), radix: 16)
  return answer
}

let arguments = CommandLine.arguments
guard arguments.count == 4, let divisor = UInt32(arguments[3]), divisor > 0, let data = bench_data_make(divisor) else {
  FileHandle.standardError.write(Data("usage: grdb-peer FOLDER DISK_FOLDER DIVISOR\n".utf8))
  exit(64)
}
let workloads = Workloads(Shop(data: data, folder: arguments[1], diskFolder: arguments[2])).all()
let encoder = JSONEncoder()
/// Prints a line without buffering.
func say(_ line: Data) { FileHandle.standardOutput.write(line + Data("\n".utf8)) }
// Report the supported workloads before reading input.
say(try encoder.encode(workloads.keys.sorted()))
while let id = readLine() {
  guard let work = workloads[id] else {
    FileHandle.standardError.write(Data("grdb-peer: no workload \(id)\n".utf8))
    exit(65)
  }
  say(try encoder.encode(try run(work)))
}
