import SyncCore
import SyncCrypto

extension ZoneHashing {
  /// Computes the chains of all zones: their heads do not depend on the zone.
  static let shared = ZoneHashing(zone: ZoneID(high: 0, low: 0))
}
