"""Attribution methods other than the readings (CAM, gradients), behind one Protocol."""
