// The program that the proofs kill. It reads one round per line, forks a process for each order, and reports how they ended. With the
// argument `soak`, eight processes use one store for a long time. It must have a single thread when it forks, so nothing here may start
// another.
import Foundation
import _FaultInjection
import _ProofStore

/// Forks the processes of a round, kills those with a time limit, and waits for all of them.
func play(_ round: KillRound) -> [KillEnd] {
  var numbers: [Int32: Int] = [:]
  var blows: [(at: UInt32, process: Int32)] = []
  for order in round.orders {
    let process = fault_fork()
    if process == 0 {
      // A key derivation takes half a second, and longer on a busy machine.
      alarm(order.role == .toolKeys ? 900 : 120)
      KillActor(round, order).run()
    }
    guard process > 0 else { continue }
    numbers[process] = order.number
    if case .after(let delay) = order.blow { blows.append((delay, process)) }
  }
  var passed: UInt32 = 0
  for blow in blows.sorted(by: { $0.at < $1.at }) {
    usleep(blow.at - passed)
    passed = blow.at
    // A process that has exited still exists until it is waited for.
    kill(blow.process, SIGKILL)
  }
  return numbers.sorted { $0.value < $1.value }.map { process, number in
    var status: Int32 = 0
    while waitpid(process, &status, 0) < 0 && errno == EINTR {}
    let signal = status & 0x7F
    return KillEnd(number: number, signal: signal, status: signal == 0 ? status >> 8 & 0xFF : 0)
  }
}

func answer(_ line: Data) {
  (line + [0x0A]).withUnsafeBytes { _ = write(STDOUT_FILENO, $0.baseAddress, $0.count) }
}

if CommandLine.arguments.count == 4, CommandLine.arguments[1] == "soak", let seconds = Double(CommandLine.arguments[3]) {
  let folder = URL(fileURLWithPath: CommandLine.arguments[2], isDirectory: true)
  do { try soak(folder: folder, seconds: seconds, store: folder.appendingPathComponent("soak.store")) } catch {
    soakNote("\(error)")
    exit(3)
  }
  exit(0)
}

while let line = readLine() {
  do {
    let ends = play(try JSONDecoder().decode(KillRound.self, from: Data(line.utf8)))
    answer(try JSONEncoder().encode(ends))
  } catch {
    answer(Data("\(error)".utf8))
  }
}
