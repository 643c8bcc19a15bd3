import multiprocessing

from recveil.runtime.progress import listening, track


class TestListening:
    def test_another_process_can_be_reported(self):
        ours, theirs = multiprocessing.Pipe(duplex=False)
        with listening(theirs.send):
            assert sum(track([1, 2], "Adding")) == 3
        assert ours.recv().fraction == 0
        while ours.poll():
            last = ours.recv()
        assert last.fraction == 1
