package import _FaultInjection

/// A kind of system call that can fail, or in which a process can be killed.
package enum FaultCall: String, Codable, CaseIterable, Sendable {
  case open, read, write, sync, lock, size, name, map

  /// The corresponding constant of the fault injection library.
  package var code: fault_call {
    switch self {
    case .open: fault_call_open
    case .read: fault_call_read
    case .write: fault_call_write
    case .sync: fault_call_sync
    case .lock: fault_call_lock
    case .size: fault_call_size
    case .name: fault_call_name
    case .map: fault_call_map
    }
  }
}
