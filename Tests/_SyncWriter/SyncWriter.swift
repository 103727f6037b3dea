// The program whose processes synchronize stores until they are killed. It reads its order from its argument.
import Foundation
import _ProofStore

@main
enum SyncWriter {
  static func main() async {
    guard CommandLine.arguments.count == 2,
      let order = try? JSONDecoder().decode(SyncOrder.self, from: Data(CommandLine.arguments[1].utf8))
    else {
      print("usage: _SyncWriter ORDER")
      exit(64)
    }
    let log = SyncLogFile(order)
    do {
      switch order.task {
      case .create(let device): try await SyncClientProcess(order, device, log).createAccount()
      case .write(let device, let steps, let blow, let countsFromOpening):
        try await SyncClientProcess(order, device, log).run(steps: steps, blow: blow, countsFromOpening: countsFromOpening)
      case .restore(let device, let backup): try await SyncSetting(order.world).restore(device, from: backup)
      case .settle(let account, let devices):
        let result = try await SyncSettlement(order, account: account, devices: devices).result()
        try JSONEncoder().encode(result).write(to: order.world.result(order.process), options: .atomic)
      }
    } catch {
      log.write(.failed("\(error)"))
      exit(3)
    }
  }
}
